"""Conversions between number formats, and the same bits as another type."""

from __future__ import annotations

from dataclasses import replace

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import PointerType, ScalarType, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.representation import DensePointers, Index, Pointer, Pointers, Scalar, Uniform
from tlxviz.sim.semantics.index_arithmetic import counts_up, narrow_index
from tlxviz.sim.semantics.operands import finish_uniform, rounded, scalar_type, skip, uniform


@emits("arith.extsi", "arith.index_cast", "arith.index_castui")
def extsi(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    signed_bool = scalar_type(source.type).name == "i1" and op.name == "arith.extsi"
    match held:
        case Scalar(code) | Uniform(code):
            target = scalar_type(op.result.type)
            if scalar_type(source.type).bits > target.bits:
                code = f"wrap({code}, {target.bits})"
            finish_uniform(e, op, f"-int({code})" if signed_bool else code)
        case Index() if scalar_type(source.type).name == "i32":
            e.set(op.result, narrow_index(e, held, e.shape(op.result)))
        case _:
            code = f"{e.dense(source)}.to({e.dtype(scalar_type(op.result.type))})"
            e.result_dense(op, f"-{code}" if signed_bool else code)


@emits("arith.extui")
def extui(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(source.type)
    code = uniform(e, source)
    if code is not None:
        finish_uniform(e, op, f"int({code})" if type_.name == "i1" else f"unsigned({code}, {type_.bits})")
        return
    held = e.get(source)
    if isinstance(held, Index) and counts_up(held):
        e.set(op.result, held)
        return
    wide = e.dtype(scalar_type(op.result.type))
    e.result_dense(
        op, f"as_unsigned({e.dense(source)}).to({wide})" if type_.name != "i1" else f"{e.dense(source)}.to({wide})"
    )


@emits("arith.trunci")
def trunci(e: Emitter, op: Operation) -> None:
    costs.issue(e, op.result.type)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    if code is not None:
        finish_uniform(e, op, f"bool({code} & 1)" if type_.name == "i1" else f"wrap({code}, {type_.bits})")
        return
    if type_.name == "i1":
        e.result_dense(op, f"({e.dense(source)} & 1).bool()")
    else:
        e.result_dense(op, f"{e.dense(source)}.to({e.dtype(type_)})")


@emits("arith.sitofp", "arith.uitofp")
def int_to_float(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    bits = scalar_type(source.type).bits
    unsigned = op.name == "arith.uitofp"
    code = uniform(e, source)
    if code is not None:
        number = f"unsigned({code}, {bits})" if unsigned else f"-int({code})" if bits == 1 else code
        finish_uniform(e, op, f"int_to_float_scalar({number}, {type_.name!r})")
        return
    function = "unsigned_to_float" if unsigned else "int_to_float"
    sign = "-" if bits == 1 and not unsigned else ""
    e.result_dense(op, f"{sign}{function}({e.dense(source)}, {e.dtype(type_)})")


@emits("arith.fptosi", "arith.fptoui")
def float_to_int(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    (source,) = op.operands
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    unsigned = op.name == "arith.fptoui"
    if code is not None:
        name = scalar_type(source.type).name
        finish_uniform(e, op, f"float_to_int_scalar({code}, {name!r}, {type_.bits}, {unsigned})")
    elif unsigned:
        e.result_dense(op, f"float_to_unsigned({e.dense(source)}, {e.dtype(type_)})")
    else:
        e.result_dense(op, f"float_to_int({e.dense(source)}, {e.dtype(type_)})")


@emits("arith.truncf", "arith.extf", "tt.fp_to_fp")
def float_to_float(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    source = op.operands[0]
    type_ = scalar_type(op.result.type)
    code = uniform(e, source)
    dtype = e.dtype(type_)
    before = scalar_type(source.type)
    if str(op.attributes.get("rounding", "rtne")) == "rtz" or op.attributes.get("rounding") == 0:
        if code is not None:
            finish_uniform(e, op, f"cast_towards_zero(tensor({code}, dtype={e.dtype(before)}), {dtype}).item()")
            return
        e.result_dense(op, f"cast_towards_zero({e.dense(source)}, {dtype})")
    elif code is not None:
        finish_uniform(e, op, rounded(code, type_))
    elif type_.name.startswith("f8") or (before.name == "f64" and type_.bytes == 2):
        e.result_dense(op, f"cast({e.dense(source)}, {dtype})")
    else:
        e.result_dense(op, f"{e.dense(source)}.to({dtype})")


@emits("ttg.fp4_to_fp")
def fp4_to_fp(e: Emitter, op: Operation) -> None:
    costs.conversion(e, op)
    if skip(e, op):
        return
    dtype = e.dtype(scalar_type(op.result.type))
    e.result_dense(op, f"fp4_to_float({e.dense(op.operands[0])}, {op.attributes['axis']}, {dtype})")


@emits("arith.bitcast", "tt.bitcast")
def bitcast(e: Emitter, op: Operation) -> None:
    if skip(e, op):
        return
    (source,) = op.operands
    held = e.get(source)
    match held:
        case Pointer(base, offset):
            element = element_of(op.result.type)
            assert isinstance(element, PointerType)
            x, y = e.fresh(), e.fresh()
            e.line(f"{x}, {y} = bitcast_pointer({base}, {offset}, {e.dtype(element.pointee)})")
            e.set(op.result, Pointer(x, y))
        case Pointers() | DensePointers():
            before, after = element_of(source.type), element_of(op.result.type)
            assert isinstance(before, PointerType)
            assert isinstance(after, PointerType)
            if bytes_of(before.pointee) == bytes_of(after.pointee):
                e.set(
                    op.result,
                    replace(held, base=e.let(f"bitcast_pointer({held.base}, 0, {e.dtype(after.pointee)})[0]")),
                )
                return
            base, offsets = e.convert(held, DensePointers("", ""), source.type)
            x, y = e.fresh(), e.fresh()
            e.line(f"{x}, {y} = bitcast_pointers({base}, {offsets}, {e.dtype(after.pointee)})")
            e.set(op.result, DensePointers(x, y))
        case Scalar(code) | Uniform(code):
            a, b = scalar_type(source.type).name, scalar_type(op.result.type).name
            finish_uniform(e, op, f"bitcast_scalar({code}, {e.dtype(ScalarType(a))}, {e.dtype(ScalarType(b))})")
        case _:
            e.result_dense(op, f"bitcast({e.dense(source)}, {e.dtype(scalar_type(op.result.type))})")
