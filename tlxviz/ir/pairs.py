"""How TTGIR says that the CTAs of a pair work together."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program

_OF_PRODUCTS = "two_ctas"
"""On products: both CTAs' tensor cores multiply, as the first one tells them. TMA loads have an attribute `two_cta`
instead, which TLX calls `two_ctas` as well: it lets either CTA's load tell a barrier of the first one, as its operand
in the cluster's memory says anyhow, and makes no pair of the tensor cores."""


def is_paired_product(op: Operation) -> bool:
    """Whether an operation is a product of the tensor cores of two CTAs."""
    return _OF_PRODUCTS in op.attributes


def has_paired_products(program: Program) -> bool:
    """Whether a kernel has such products, so that Triton lowers commits and the end of CTAs for pairs."""
    return any(is_paired_product(op) for op in program.module.walk())
