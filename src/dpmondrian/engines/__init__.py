"""Where rows live and how they answer: each engine adds up the same integers over its rows."""

from __future__ import annotations

from dpmondrian.engines.base import Engine, check_n_rows
from dpmondrian.engines.coded import (
    MISSING_RULES,
    CodedBlock,
    clipped_rows,
    coded_blocks,
    missing_value_error,
    view_of,
)
from dpmondrian.engines.grid import PLACES, Grid
from dpmondrian.engines.local import LocalEngine, LocalSource
from dpmondrian.engines.questions import (
    AllTogether,
    BinCounts,
    ByMap,
    CutAlong,
    CutAndName,
    DistanceSums,
    LineCounts,
    Move,
    Named,
    Question,
    Splits,
    ToNearest,
)
from dpmondrian.engines.sources import EngineSource, open_source, with_thread_context
from dpmondrian.engines.store import Resources
from dpmondrian.kernels.lines import PARTS, STEPS
from dpmondrian.kernels.profiles import CLUSTER_STEP

__all__ = [
    "CLUSTER_STEP",
    "MISSING_RULES",
    "PARTS",
    "PLACES",
    "STEPS",
    "AllTogether",
    "BinCounts",
    "ByMap",
    "CodedBlock",
    "CutAlong",
    "CutAndName",
    "DistanceSums",
    "Engine",
    "EngineSource",
    "Grid",
    "LineCounts",
    "LocalEngine",
    "LocalSource",
    "Move",
    "Named",
    "Question",
    "Resources",
    "Splits",
    "ToNearest",
    "check_n_rows",
    "clipped_rows",
    "coded_blocks",
    "missing_value_error",
    "open_source",
    "view_of",
    "with_thread_context",
]
