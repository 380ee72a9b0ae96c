"""A page that shows a trace in a browser: one file that needs nothing else."""
