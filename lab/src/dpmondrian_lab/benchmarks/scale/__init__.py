"""Time, memory and quality of fits from 1e5 to 1e8 rows, on every engine: ``python -m dpmondrian_lab.benchmarks.scale``."""
