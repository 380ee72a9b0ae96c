"""Gluon kernels about single features: descriptors of other shapes, registers as operands, tuples, calls."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma


@gluon.jit
def _fetch(source, coordinates):
    landed = mbarrier.allocate_mbarrier()
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    mbarrier.init(landed, count=1)
    mbarrier.expect(landed, source.block_type.nbytes)
    tma.async_copy_global_to_shared(source, coordinates, landed, tile)
    mbarrier.wait(landed, 0, deps=[tile])
    return tile


@gluon.jit
def slab(source, target, first):
    """A tile of three dimensions, from one place to the same place."""
    tile = _fetch(source, [gl.program_id(0), first, 0])
    tma.async_copy_shared_to_global(target, [gl.program_id(0), first, 0], tile)
    tma.store_wait(0)


@gluon.jit
def below(source, target, first, layout: gl.constexpr):
    """A tile that begins in row `first`, with what lies below the tensor."""
    tile = _fetch(source, [first, 0])
    row = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    gl.store(target + row[:, None] * 64 + column[None, :], tile.load(layout))


@gluon.jit
def described_here(source, target, M, N, layout: gl.constexpr, shared: gl.constexpr):
    """Descriptors that the kernel makes."""
    a = tma.make_tensor_descriptor(source, shape=[M, N], strides=[N, 1], block_shape=[64, 64], layout=shared)
    b = tma.make_tensor_descriptor(target, shape=[M, N], strides=[N, 1], block_shape=[64, 64], layout=shared)
    place = [gl.program_id(0) * 64, gl.program_id(1) * 64]
    tile = _fetch(a, place)
    tile.store(tile.load(layout) * 2)
    fence_async_shared()
    tma.async_copy_shared_to_global(b, place, tile)
    tma.store_wait(0)


@gluon.jit
def _square(pointer, layout: gl.constexpr):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    tile = gl.allocate_shared_memory(pointer.dtype.element_ty, [32, 32], plain)
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    async_copy.async_copy_global_to_shared(tile, pointer + row[:, None] * 32 + column[None, :])
    async_copy.commit_group()
    async_copy.wait_group(0)
    return tile


@gluon.jit
def small_products(x, y, out, layout: gl.constexpr):
    """The same product as multiply-adds, and in the way of Ampere, with operands in registers."""
    tensor_cores: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
    a, b = _square(x, layout), _square(y, layout)
    left: gl.constexpr = gl.DotOperandLayout(0, layout, 0)
    right: gl.constexpr = gl.DotOperandLayout(1, layout, 0)
    exact = gl.dot_fma(a.load(left), b.load(right), gl.full((32, 32), 1.0, gl.float32, layout))
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    gl.store(out + row[:, None] * 32 + column[None, :], exact)
    left_fragment: gl.constexpr = gl.DotOperandLayout(0, tensor_cores, 1)
    right_fragment: gl.constexpr = gl.DotOperandLayout(1, tensor_cores, 1)
    zero = gl.zeros((32, 32), gl.float32, tensor_cores)
    product = mma_v2(a.load(left_fragment), b.load(right_fragment), zero)
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, tensor_cores))
    column = gl.arange(0, 32, layout=gl.SliceLayout(0, tensor_cores))
    gl.store(out + 1024 + row[:, None] * 32 + column[None, :], product)


@gluon.jit(noinline=True)
def _write(pointer, number):
    gl.store(pointer, number + 1)


@gluon.jit
def tuples_and_calls(arguments, layout: gl.constexpr):
    lane = gl.arange(0, 128, layout=layout)
    gl.store(arguments[0] + lane, lane * arguments[1])
    _write(arguments[0] + 128, arguments[1])
    _write(arguments[0] + 129, arguments[1] * 10)
