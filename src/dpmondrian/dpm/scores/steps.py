"""The unit of scores."""

from __future__ import annotations

__all__ = ["STEPS"]

STEPS = 2**16
"""Score steps in a score of 1 for one row."""
