"""Markers into a kernel's TTGIR, timestamps out of a buffer, and a trace out of the timestamps."""
