"""Noise and selection. Only `dpmondrian.release` may import from here."""
