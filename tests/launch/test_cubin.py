"""Registers out of a binary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tlxviz.launch.kernels.cubin import registers_of


def test_a_binary_of_the_compiler(write: Callable[..., Any], device: Any):
    from tlxviz.launch.script import run_script

    script = write("""
        from tlxviz.launch.kernels.cubin import registers_of

        kernel = add.warmup(x, y, out, 1000, BLOCK=256, grid=(1,))
        assert 8 <= registers_of(kernel.asm["cubin"], "add") <= 64
        assert registers_of(kernel.asm["cubin"], "other") == 0
    """)
    assert run_script(script, [], device, print) == 0


@pytest.mark.parametrize("text", [b"", b"MZ", b"\x7fEL"])
def test_what_is_no_elf_file(text: bytes):
    assert registers_of(text, "add") == 0
