"""Noise and selection. Only `dpmondrian.privacy.door` may import from here."""
