"""TTGIR text to typed operations, locations and `Program`."""

from tlxviz.ir.build import build_program, load_program
from tlxviz.ir.errors import TtgirError
from tlxviz.ir.naming import name_from_source
from tlxviz.ir.parser import parse_module

__all__ = ["TtgirError", "build_program", "load_program", "name_from_source", "parse_module"]
