"""Diagrams of a kernel as data, as DOT text, and as pictures."""
