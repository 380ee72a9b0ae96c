"""How long things take: benchmarks, tuning, and operators of torch."""
