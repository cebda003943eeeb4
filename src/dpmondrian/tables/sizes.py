"""How many rows are worked on at a time. Results do not depend on any of these: they are a matter of speed and memory."""

from __future__ import annotations

__all__ = ["BATCH_ROWS", "BLOCK_ROWS", "PART_ROWS"]

BLOCK_ROWS = 2**14
"""Rows that are turned into floats together: few enough for the caches of a processor."""

BATCH_ROWS = 2**14
"""Rows that are taken together from what gives Python values one by one: databases, JSON lines."""

PART_ROWS = 2**17
"""Rows that a thread takes at a time, and whose codes are kept together: enough to be worth the while."""
