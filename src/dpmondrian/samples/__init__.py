"""Invented tables for the demo, the examples and the tests."""

from __future__ import annotations

from dpmondrian.samples.examples import EXAMPLES

__all__ = ["EXAMPLES"]
