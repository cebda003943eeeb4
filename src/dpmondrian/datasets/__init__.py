"""Data sets for examples and benchmarks: made here, or read from local copies of public files."""
