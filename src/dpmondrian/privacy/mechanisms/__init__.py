"""Noise and selection. Only `dpmondrian.privacy.door` may import from here."""

from __future__ import annotations

from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.exact import LazyUniform, exp_bounds
from dpmondrian.privacy.mechanisms.sampler import Sampler

__all__ = ["BitSource", "LazyUniform", "Sampler", "exp_bounds"]
