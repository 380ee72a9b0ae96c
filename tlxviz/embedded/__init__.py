"""tlxviz inside somebody's program: a block whose kernels are recorded."""
