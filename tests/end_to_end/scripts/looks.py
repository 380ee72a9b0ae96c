"""Measures a kernel that adds, then looks at its output, or changes its inputs, in every way that there is.

Prints the names of the ways that see a wrong sum, and how many ways there are.
"""

import copy
import dataclasses
import io
import pickle
import threading
import weakref

import torch
import triton
import triton.language as tl
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from triton.testing import do_bench

N = 100


@triton.jit
def add(x_ptr, y_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n)
    tl.store(sum_ptr + at, total, mask=at < n)


@triton.jit
def add_at(table_ptr, n, BLOCK: tl.constexpr):
    """As `add`, of tensors whose addresses are in a table."""
    x_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    y_ptr = tl.load(table_ptr + 1).to(tl.pointer_type(tl.float32))
    sum_ptr = tl.load(table_ptr + 2).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    total = tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n)
    tl.store(sum_ptr + at, total, mask=at < n)


def launch(x, y, out):
    add[(1,)](x, y, out, N, BLOCK=128)


def ones(*shape, **options):
    return torch.ones(shape or N, device="cuda", **options)


class AddOne(torch.autograd.Function):
    """Adds one in both directions, by the kernel."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        launch(x, torch.ones_like(x), out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        out = torch.empty_like(gradient)
        launch(gradient.contiguous(), torch.ones_like(gradient), out)
        return out


class Gives(torch.autograd.Function):
    """Its gradient is a tensor that it was given."""

    @staticmethod
    def forward(ctx, x, gradient):
        ctx.gradient = gradient
        return x.clone()

    @staticmethod
    def backward(ctx, _):
        return ctx.gradient, None


@torch.library.custom_op("looks::clear", mutates_args={"tensor"})
def clear(tensor: torch.Tensor) -> None:
    tensor.zero_()


@dataclasses.dataclass
class Box:
    tensor: torch.Tensor


def loaded(saved, **options):
    file = io.BytesIO()
    torch.save(saved, file, **options)
    file.seek(0)
    return torch.load(file, weights_only=False)


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def module(**buffers):
    made = torch.nn.Module()
    for name, tensor in buffers.items():
        made.register_buffer(name, tensor)
    return made


def optimized(kind, **options):
    """A step of an optimizer changes what was an input."""

    def change(x, y):
        parameter = torch.nn.Parameter(x)
        parameter.grad = torch.ones_like(x)
        kind([parameter], lr=0.1, **options).step()

    return change


def accumulated(x, y):
    parameter = ones(requires_grad=True)
    parameter.grad = x
    (parameter * 2).sum().backward()


def clipped(x, y):
    parameter = torch.nn.Parameter(ones())
    parameter.grad = x
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)


def normalized(x, y):
    norm = torch.nn.BatchNorm1d(N, device="cuda")
    norm.running_mean = x
    norm(torch.rand(4, N, device="cuda"))


READS = {
    "tolist": lambda out: out,
    "cpu numpy": lambda out: torch.from_numpy(out.cpu().numpy()),
    "numpy by force": lambda out: torch.from_numpy(out.numpy(force=True)),
    "item": lambda out: [out[i].item() for i in range(N)],
    "float": lambda out: [float(each) for each in out],
    "index": lambda out: torch.stack([out[i] for i in range(N)]),
    "text": lambda out: out if "100." in repr(out) and "100." in f"{[out]}" else None,
    "contains": lambda out: out if 100.0 in out else None,
    "truth": lambda out: out if bool(out[3] == 4) and (out != 0).all() else None,
    "type": lambda out: out.type(torch.float64),
    "to": lambda out: out.to(torch.float64),
    "copy": lambda out: torch.zeros(N, device="cuda").copy_(out),
    "set items": lambda out: torch.zeros(N, device="cuda").index_copy_(0, torch.arange(N, device="cuda"), out),
    "deep copy": lambda out: copy.deepcopy({"a": [out]})["a"][0],
    "dataclass": lambda out: dataclasses.asdict(Box(out))["tensor"],
    "pickle": lambda out: pickle.loads(pickle.dumps(out)),
    "save": lambda out: loaded({"a": out})["a"],
    "save an object": lambda out: loaded(Box(out)).tensor,
    "save as before": lambda out: loaded(out, _use_new_zipfile_serialization=False),
    "state": lambda out: loaded(module(out=out).state_dict())["out"],
    "half": lambda out: module(out=out).half().out,
    "set of storage": lambda out: ones().set_(out.untyped_storage().clone().untyped(), 0, (N,)),
    "dlpack": torch.from_dlpack,
    "thread": lambda out: in_thread(out.clone),
    "foreach": lambda out: torch._foreach_mul([out], 1.0)[0],
    "aten": lambda out: torch.ops.aten.mul(out, 1),
    "vmap": lambda out: torch.vmap(lambda each: each * 1)(out),
    "func.grad": lambda out: torch.func.grad(lambda each: (each * out).sum())(ones()),
    "func.jacrev": lambda out: torch.func.jacrev(lambda each: each * out)(ones()).diagonal(),
    "generator": lambda out: torch.cat(list(out.split(10))),
    "map": lambda out: torch.utils._pytree.tree_map(lambda each: each * 1, {"a": [out]})["a"][0],
    "sparse": lambda out: out.to_sparse().to_dense(),
    "complex": lambda out: torch.view_as_real(torch.view_as_complex(out.view(50, 2)).conj().conj()).flatten(),
    "bytes": lambda out: out.view(torch.uint8).clone().view(torch.float32),
    "weak": lambda out: weakref.ref(out)() * 1,
    "hook": lambda out: gradient_of(lambda x: x.register_hook(lambda gradient: gradient * out) and x),
    "gives": lambda out: gradient_of(lambda x: Gives.apply(x, out)),
    "another launch": lambda out: AddOne.apply(out) - 1,
    "another measured launch": lambda out: measured(lambda: AddOne.apply(out)) - 1,
}  # fmt: skip
"""What is done with the output after it was measured, and has to be equal to the sum."""

CHANGES = {
    "add": lambda x, y: x.__iadd__(5),
    "fill": lambda x, y: y.fill_(5),
    "view": lambda x, y: x.view(10, 10).T[0].zero_(),
    "items": lambda x, y: x.__setitem__(slice(3, 7), 9.0),
    "data": lambda x, y: x.data.fill_(3),
    "other data": lambda x, y: setattr(x, "data", ones()),
    "set": lambda x, y: x.set_(ones()),
    "resize": lambda x, y: x.resize_(5),
    "storage": lambda x, y: x.untyped_storage().resize_(0),
    "dlpack": lambda x, y: torch.from_dlpack(x).zero_(),
    "out": lambda x, y: torch.mul(y, 3, out=x),
    "two outs": lambda x, y: torch.max(ones(N, 4), 1, out=(x, torch.zeros(N, dtype=torch.long, device="cuda"))),
    "random": lambda x, y: torch.rand(N, out=x, device="cuda"),
    "foreach": lambda x, y: torch._foreach_mul_([x, y], 2.0),
    "aten": lambda x, y: torch.ops.aten.add_(x, 1),
    "aten out": lambda x, y: torch.ops.aten.mul.out(y, y, out=x),
    "own operator": lambda x, y: clear(x),
    "scatter": lambda x, y: x.scatter_(0, torch.arange(3, device="cuda"), 5.0),
    "product": lambda x, y: x.view(10, 10).addmm_(ones(10, 10), ones(10, 10)),
    "init": lambda x, y: torch.nn.init.constant_(x, 4.0),
    "dropout": lambda x, y: functional.dropout(x, 0.9, inplace=True),
    "relu": lambda x, y: functional.leaky_relu(x.sub_(50), inplace=True),
    "hardtanh": lambda x, y: functional.hardtanh(x, inplace=True),
    "threshold": lambda x, y: torch.nn.Threshold(50.0, 0.0, inplace=True)(x),
    "batch norm": lambda x, y: functional.batch_norm(torch.rand(4, N, device="cuda"), x, y, training=True),
    "batch norm module": normalized,
    "instance norm": lambda x, y: functional.instance_norm(torch.rand(2, N, 4, device="cuda"), x, y),
    "embedding": lambda x, y: functional.embedding(
        torch.arange(5, device="cuda"), x.view(10, 10), max_norm=0.5
    ),
    "state": lambda x, y: module(x=x).load_state_dict({"x": ones()}),
    "vector": lambda x, y: torch.nn.utils.vector_to_parameters(ones(), [torch.nn.Parameter(x)]),
    "SGD": optimized(torch.optim.SGD),
    "AdamW": optimized(torch.optim.AdamW),
    "AdamW by foreach": optimized(torch.optim.AdamW, foreach=True),
    "gradient": accumulated,
    "clipped": clipped,
    "swap": lambda x, y: torch.utils.swap_tensors(x, ones()),
    "launch": lambda x, y: launch(x, y, x),
    "measured launch": lambda x, y: do_bench(lambda: launch(x, y, x)),
    "thread": lambda x, y: in_thread(x.zero_),
}  # fmt: skip
"""What is done with the inputs after it was measured; the output has to be equal to the sum all the same."""


def gradient_of(function):
    x = ones(requires_grad=True)
    function(x).sum().backward()
    return x.grad


def measured(function):
    results = []
    do_bench(lambda: results.append(function()))
    return results[-1]


def inputs():
    return torch.arange(N, device="cuda").float(), ones(), torch.zeros(N, device="cuda")


def saved_for_backward():
    x, y, out = inputs()
    parameter = ones(requires_grad=True)
    loss = (parameter * out.detach()).sum()
    do_bench(lambda: launch(x, y, out))
    return torch.autograd.grad(loss, parameter)[0]


def checkpointed():
    x, y, out = inputs()
    parameter = ones(requires_grad=True)
    loss = checkpoint(lambda each: (each * out).sum(), parameter, use_reentrant=False)
    do_bench(lambda: launch(x, y, out))
    loss.backward()
    return parameter.grad


def backward_measured():
    x = torch.arange(N, device="cuda").float().requires_grad_(True)
    result = AddOne.apply(x * 3.0)
    do_bench(lambda: result.backward(x.detach(), retain_graph=True), grad_to_none=[x])
    return x.grad / 3


def backward_measured_twice():
    x = torch.arange(N, device="cuda").float().requires_grad_(True)
    result = AddOne.apply(x * 2.0)
    for _ in range(2):
        do_bench(lambda: result.backward(x.detach(), retain_graph=True))
    return x.grad / 4


def forward_measured():
    x = torch.arange(N, device="cuda").float().requires_grad_(True)
    results = []
    do_bench(lambda: results.append(AddOne.apply(x) ** 2))
    results[-1].sum().backward()
    return (x.grad - 1) / 2


def sparse_of_before():
    x, y, out = inputs()
    sparse = torch.sparse_coo_tensor(torch.arange(N, device="cuda")[None], out, (N,), check_invariants=False)
    do_bench(lambda: launch(x, y, out))
    return sparse.to_dense()


def view_of_before():
    x, y, out = inputs()
    view = out.view(10, 10).T
    do_bench(lambda out=out: launch(x, y, out))
    del out
    return view.T.flatten()


def made_within():
    x, y, _ = inputs()
    kept = []

    def call():
        out = torch.empty_like(x)
        launch(x, y, out)
        kept[:] = [out[::1].view(10, 10)]

    do_bench(call)
    return kept[0].flatten()


def used_within():
    x, y, out = inputs()

    def call():
        launch(x, y, out)
        return out * 2

    return measured(call) / 2


def in_another_thread():
    x, y, out = inputs()
    in_thread(lambda: do_bench(lambda: launch(x, y, out)))
    return out


def table_of(*tensors):
    return torch.tensor([tensor.data_ptr() for tensor in tensors], device="cuda")


def by_addresses():
    x, y, out = inputs()
    do_bench(lambda: add_at[(1,)](table_of(x, y, out), N, BLOCK=128))
    return out


def by_addresses_and_changed():
    x, y, out = inputs()
    table = table_of(x, y, out)
    for _ in range(2):
        do_bench(lambda: add_at[(1,)](table, N, BLOCK=128))
    x.zero_()
    return out


OTHERS = [by_addresses, by_addresses_and_changed,
    saved_for_backward, checkpointed, backward_measured, backward_measured_twice, forward_measured, sparse_of_before,
    view_of_before, made_within, used_within, in_another_thread,
]  # fmt: skip


def read(look):
    x, y, out = inputs()
    do_bench(lambda: launch(x, y, out))
    return look(out)


def change(act):
    x, y, out = inputs()
    do_bench(lambda: launch(x, y, out))
    act(x, y)
    return out


ways = {f"read by {name}": (read, look) for name, look in READS.items()}
ways |= {f"changed by {name}": (change, act) for name, act in CHANGES.items()}
ways |= {function.__name__: (function,) for function in OTHERS}
for name, (function, *arguments) in ways.items():
    try:
        seen = function(*arguments)
        right = seen is not None and torch.as_tensor(seen).tolist() == [i + 1.0 for i in range(N)]
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
    else:
        if not right:
            print(f"{name}: wrong")
print(len(ways), "ways")
