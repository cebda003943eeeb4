"""Where rows live and how they answer: each engine adds up the same integers over its rows."""

from __future__ import annotations

from dpmondrian.engines.base import Engine, Splits, check_n_rows
from dpmondrian.engines.coded import CodedBlock
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.local import LocalEngine, LocalSource
from dpmondrian.engines.missing import MISSING_RULES, clipped_rows, missing_value_error
from dpmondrian.engines.questions import Question
from dpmondrian.engines.resources import Resources
from dpmondrian.engines.sources import EngineSource, carried, open_source
from dpmondrian.engines.views import view_of

__all__ = [
    "MISSING_RULES",
    "CodedBlock",
    "Engine",
    "EngineSource",
    "Grid",
    "LocalEngine",
    "LocalSource",
    "Question",
    "Resources",
    "Splits",
    "carried",
    "check_n_rows",
    "clipped_rows",
    "missing_value_error",
    "open_source",
    "view_of",
]
