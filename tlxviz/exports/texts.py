"""Texts that every format can hold."""

from __future__ import annotations


def clean(text: str) -> str:
    """Without NUL, and with `?` for half a surrogate pair, which UTF-8 does not have."""
    return text.replace("\0", "").encode(errors="replace").decode()
