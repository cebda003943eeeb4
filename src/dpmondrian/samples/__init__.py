"""Invented tables for the demo, the examples and the tests."""

from __future__ import annotations

from dpmondrian.samples.examples import EXAMPLES
from dpmondrian.samples.synthetic import blobs

__all__ = ["EXAMPLES", "blobs"]
