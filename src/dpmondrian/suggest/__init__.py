"""Bounds of columns, estimated privately."""

from __future__ import annotations

from dpmondrian.suggest.bounds import SuggestedBounds, suggest_bounds

__all__ = ["SuggestedBounds", "suggest_bounds"]
