"""Microbenchmarks that measure the figures of a GPU's data file, in SM cycles."""
