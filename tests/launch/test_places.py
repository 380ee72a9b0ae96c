"""Host and device tensors are told apart; what comes into being unseen counts as on the device."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

from tlxviz.devices.model import Device
from tlxviz.launch.cuda import install as cuda
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors import places
from tlxviz.launch.tensors.places import is_host


@pytest.fixture(autouse=True)
def gpu(device: Device) -> Iterator[Gpu]:
    with Scope() as scope:
        made = Gpu(device)
        cuda.install(scope, made)
        yield made


def host() -> torch.Tensor:
    return torch.arange(4.0)


def on_gpu() -> torch.Tensor:
    return torch.arange(4.0, device="cuda")


FOLLOWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "operator": lambda x: x + 1,
    "reversed operator": lambda x: 1 - x,
    "view": lambda x: x.view(2, 2).T[0],
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "parameter": torch.nn.Parameter,
    "clone": lambda x: x.clone(),
    "dtype": lambda x: x.to(torch.float16).double(),
    "like": torch.zeros_like,
    "new": lambda x: x.new_empty(3),
    "list": lambda x: torch.stack([x, x]),
    "pair": lambda x: torch.topk(x, 2)[1],
    "gradient": lambda x: torch.autograd.grad((w := x.clone().requires_grad_()).sum(), w)[0],
    "saved": lambda x: (x.clone().requires_grad_() ** 2).grad_fn._saved_self,  # pyright: ignore
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy of tensor": lambda x: torch.as_tensor(x),
    "sparse": lambda x: x.to_sparse(),
    "vmap": lambda x: torch.func.vmap(lambda t: t * 2)(x),
    "scalar of the host": lambda x: x * torch.tensor(2.0),
    "functional": lambda x: torch.nn.functional.softmax(x, 0),
    "iteration": lambda x: next(iter(x)),
    "module": lambda x: torch.nn.Linear(4, 4).to(x.device)(x),
}


@pytest.mark.parametrize("follow", FOLLOWS.values(), ids=FOLLOWS.keys())
def test_results_are_where_their_arguments_are(follow: Callable[[torch.Tensor], Any]):
    assert follow(host()).device == torch.device("cpu")
    assert is_host(follow(host()))
    assert follow(on_gpu()).device == torch.device("cuda", 0)
    assert not is_host(follow(on_gpu()))


def test_gradients():
    for where in ("cpu", "cuda"):
        weight = torch.ones(2, device=where, requires_grad=True)
        (weight * 2).sum().backward()
        assert str(weight.grad.device).startswith(where)  # pyright: ignore


def test_moving_a_module_moves_its_parameters_in_place():
    module = torch.nn.BatchNorm1d(2)
    weight = module.weight
    assert (weight.device.type, module.running_mean.device.type) == ("cpu", "cpu")  # pyright: ignore
    assert module.cuda().half().float().to("cuda").weight is weight
    assert (weight.device.type, module.running_mean.device.type) == ("cuda", "cuda")  # pyright: ignore
    assert module.cpu().weight.device.type == "cpu"
    assert module.to(0).weight.device.type == "cuda"


def test_moves_copy_and_carry_gradients():
    x = host().requires_grad_()
    moved = x.to("cuda", torch.float64, non_blocking=True)
    (moved * 3).sum().backward()
    assert (moved.device.type, x.grad.tolist(), x.grad.dtype) == ("cuda", [3.0] * 4, torch.float32)  # pyright: ignore
    assert moved.grad_fn.name() == "ToCopyBackward0"  # pyright: ignore
    array = numpy.zeros(2)
    shared, apart = torch.from_numpy(array), torch.as_tensor(array, device="cuda")
    array[0] = 5
    assert (shared.tolist(), apart.tolist(), shared.is_cuda) == ([5, 0], [0, 0], False)


def test_checkpoints():
    file = io.BytesIO()
    torch.save({"host": host(), "gpu": on_gpu(), "parameter": torch.nn.Parameter(on_gpu())}, file)

    def loaded(**options: Any) -> list[str]:
        file.seek(0)
        return [value.device.type for value in torch.load(file, **options).values()]

    assert loaded() == ["cpu", "cuda", "cuda"]
    assert loaded(map_location="cpu") == ["cpu"] * 3
    assert loaded(map_location=torch.device("cuda")) == ["cuda"] * 3
    assert loaded(map_location={"cuda:0": "cpu"}, weights_only=False) == ["cpu"] * 3
    assert loaded(map_location=lambda storage, location: storage.cuda()) == ["cuda"] * 3


def test_legacy_types():
    assert [torch.FloatTensor([1.0]).device.type, torch.cuda.LongTensor([1]).device.type] == ["cpu", "cuda"]
    assert isinstance(host(), torch.FloatTensor)
    assert not isinstance(host(), torch.cuda.FloatTensor)
    assert isinstance(on_gpu(), torch.cuda.FloatTensor)
    assert on_gpu().type() == "torch.cuda.FloatTensor"
    assert host().type("torch.cuda.HalfTensor").type() == "torch.cuda.HalfTensor"


def test_mixed_tensors_are_refused_where_it_is_certain():
    unknown = torch.Tensor(4)  # torch lets no mode see this one being made
    assert unknown.device.type == "cuda"
    assert (unknown + host()).shape == (unknown + on_gpu()).shape == (4,)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
        host() + on_gpu()
    assert (on_gpu() + torch.tensor(1)).is_cuda
    assert on_gpu().copy_(host()).is_cuda
    assert not host().copy_(on_gpu()).is_cuda


def test_autocast_computes_as_on_a_gpu():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        product = x @ x
        assert (product.dtype, product.softmax(0).dtype, (x + product).dtype) == (torch.bfloat16, *[torch.float32] * 2)
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == torch.float32
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_memory_of_the_device_is_counted():
    gc.collect()
    before = torch.cuda.memory_allocated()
    before_large = torch.cuda.memory_stats()["allocated_bytes.large_pool.current"]
    torch.cuda.reset_peak_memory_stats()
    small, large = torch.empty(100, device="cuda"), torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
    view, other = large[5:], torch.empty(1 << 20)
    assert torch.cuda.memory_allocated() - before == 512 + (3 << 20)
    assert torch.cuda.memory_stats()["allocated_bytes.large_pool.current"] - before_large == 3 << 20
    del large
    assert torch.cuda.memory_allocated() - before == 512 + (3 << 20)
    del view, small
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() - before == 512 + (3 << 20)
    assert torch.cuda.memory_reserved() >= 3 << 20
    assert torch.cuda.memory_stats()["allocated_bytes.large_pool.current"] == before_large
    free, total = torch.cuda.mem_get_info()
    assert (free, total) == (150109880320 - torch.cuda.memory_reserved(), 150109880320)
    assert other.device.type == "cpu"


def test_nothing_is_kept_of_tensors_that_are_gone():
    gc.collect()
    before = len(places._PLACES)  # pyright: ignore[reportPrivateUsage]
    kept = [torch.empty(1, device=where) for where in ("cuda", "cpu") * 5]
    assert len(places._PLACES) == before + 10  # pyright: ignore[reportPrivateUsage]
    del kept
    assert len(places._PLACES) == before  # pyright: ignore[reportPrivateUsage]
