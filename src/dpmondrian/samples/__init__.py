"""Invented tables for the demo, the examples and the tests."""

from __future__ import annotations

from dpmondrian.samples.examples import EXAMPLES, customers, locations, patients
from dpmondrian.samples.invented import Invented, invented

__all__ = ["EXAMPLES", "Invented", "customers", "invented", "locations", "patients"]
