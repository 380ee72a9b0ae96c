"""The stand-in for CUDA, as a script sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tlxviz._errors import TlxvizError

Runner = Callable[..., Any]

PRELUDE = "import torch\nimport triton\n"

SCRIPTS = {
    "queries": """
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        assert torch.cuda.get_device_capability() == (9, 0)
        properties = torch.cuda.get_device_properties("cuda")
        assert properties.multi_processor_count == 132
        assert (properties.major, properties.minor) == (9, 0)
        assert properties.name == torch.cuda.get_device_name(0) and "H200" in properties.name
        assert torch.version.cuda
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    """,
    "triton's driver": """
        driver = triton.runtime.driver.active
        assert driver.get_active_torch_device() == torch.device("cuda:0")
        target = driver.get_current_target()
        assert (target.backend, target.arch) == ("cuda", 90)
        assert driver.utils.get_device_properties(0)["max_shared_mem"] == 232448
        assert driver.get_device_interface() is torch.cuda
    """,
    "factories": """
        device = torch.device("cuda", 0)
        for made in (
            torch.empty(3, device="cuda"), torch.zeros((3,), device=device), torch.randn(3, device="cuda:0"),
            torch.tensor([1.0, 2.0, 3.0], device=device), torch.arange(3, device=device), torch.ones(3).cuda(),
            torch.ones(3).to("cuda"), torch.ones(3).to(device, torch.float16), torch.ones(3).to(device=device),
            torch.empty_like(torch.ones(3), device="cuda"), torch.ones(3, pin_memory=True).cuda(non_blocking=True),
        ):
            assert made.shape == (3,) and made.is_cuda and made.device == device and made.get_device() == 0
            made.copy_(made + 1)
    """,
    "host and device do not share memory": """
        host = torch.zeros(3)
        for moved in (host.cuda(), host.to("cuda"), host.to(device="cuda"), host.cuda().cpu(), host.cuda().to("cpu")):
            moved += 1
        assert host.sum() == 0
        moved = host.cuda()
        assert host.to(torch.float32) is host.cpu() is host.to("cpu") is host
        assert moved.to("cuda") is moved.cuda() is moved.to("cuda:0", torch.float32) is moved
    """,
    "default devices": """
        with torch.device("cuda"):
            assert torch.ones(3).is_cuda
        torch.set_default_device("cuda")
        assert torch.ones(3).is_cuda
    """,
    "generators": """
        one = torch.Generator(device="cuda").manual_seed(3)
        two = torch.Generator("cuda").manual_seed(3)
        assert torch.equal(torch.rand(4, device="cuda", generator=one), torch.rand(4, device="cuda", generator=two))
        torch.manual_seed(1)
        first = torch.rand(4, device="cuda")
        torch.cuda.manual_seed(1)
        assert torch.equal(first, torch.rand(4, device="cuda"))
        state = torch.cuda.get_rng_state()
        first = torch.rand(4, device="cuda")
        torch.cuda.set_rng_state(state)
        assert torch.equal(first, torch.rand(4, device="cuda"))
    """,
    "streams and events": """
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.cuda.device(0):
            event = torch.cuda.Event(enable_timing=True)
            event.record()
        torch.cuda.current_stream().wait_stream(stream)
        event.synchronize()
        assert event.query() and stream.query()
    """,
    "modules": """
        model = torch.nn.Linear(4, 2).cuda().to("cuda").half()
        assert next(model.parameters()).is_cuda
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.float()(torch.ones(1, 4, device="cuda")).sum().backward()
        optimizer.step()
    """,
    "comparisons and printing": """
        made = torch.ones(2, device="cuda")
        torch.testing.assert_close(made.cpu(), torch.ones(2))
        assert torch.allclose(made.cpu(), torch.ones(2))
        assert repr(made) == "tensor([1., 1.], device='cuda:0')" and repr(made.cpu()) == "tensor([1., 1.])"
        assert made.tolist() == [1.0, 1.0] and made.cpu().numpy().sum() == 2
    """,
    "random numbers of all devices": """
        torch.cuda.seed_all()
        states = torch.cuda.get_rng_state_all()
        first = torch.rand(4, device="cuda")
        torch.cuda.random.set_rng_state_all(states)
        assert torch.equal(first, torch.rand(4, device="cuda"))
    """,
    "compiled functions run as they are written": """
        @torch.compile(fullgraph=True)
        def doubled(x):
            return x * 2

        model = torch.nn.Linear(2, 2).cuda()
        model.compile()
        x = torch.ones(2, device="cuda")
        assert torch.equal(torch.compile(doubled, mode="max-autotune")(x), x + x)
        assert model(x).is_cuda and torch.compile(model)(x).is_cuda
    """,
    "the profiler": """
        from torch.profiler import ProfilerActivity, profile, record_function

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded, record_function("mine"):
            torch.ones(2, device="cuda") + 1
        assert "mine" in recorded.key_averages().table(sort_by="cuda_time_total")
        with torch.autograd.profiler.emit_nvtx(), torch.cuda.profiler.profile():
            torch.cuda.nvtx.mark("here")
    """,
    "what is not simulated says so": """
        try:
            torch.cuda.get_device_properties(0).persisting_l2_cache_max_size
        except AttributeError as error:
            assert "persisting_l2_cache_max_size" in str(error)
        else:
            raise AssertionError
    """,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_scripts(run: Runner, script: str):
    assert run(script, prelude=PRELUDE).status == 0


@pytest.mark.parametrize(
    "call",
    [
        "utilization()",
        "temperature()",
        "memory_usage()",
        "list_gpu_processes()",
        "memory.memory_snapshot()",
        "cudart().cudaStreamCreate()",
        "CUDAGraph().raw_cuda_graph()",
    ],
)
def test_what_asks_the_runtime_is_refused_by_name(run: Runner, call: str):
    name = re.escape(call.removesuffix("()").removeprefix("memory.").replace("CUDAGraph()", "CUDAGraph"))
    with pytest.raises(TlxvizError, match=rf"the script calls torch\.cuda\.{name}, which a simulated device"):
        run(f"torch.cuda.{call}\n", prelude=PRELUDE)


def test_what_autograd_saves_and_makes_is_where_it_was(run: Runner):
    run(
        """
        from torch.utils.checkpoint import checkpoint
        half = torch.ones(4, device="cuda", dtype=torch.float16, requires_grad=True)
        (half.float() * 2).sum().backward()
        assert half.grad.is_cuda
        p, o = torch.ones(4, device="cuda", requires_grad=True), torch.ones(4, device="cuda")
        for reentrant in (True, False):
            checkpoint(lambda e: (e * o).sum(), p, use_reentrant=reentrant).backward()
            assert p.grad.is_cuda
        host = torch.ones(4, requires_grad=True)
        checkpoint(lambda e: (e * e).sum(), host, use_reentrant=False).backward()
        assert not host.grad.is_cuda
        """
    )
