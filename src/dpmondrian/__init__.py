"""dpmondrian: differentially private clustering, for results that may be published.

>>> from dpmondrian import DPM
>>> model = DPM(epsilon=1.0, delta=1e-7, bounds={"age": (0, 120), "bmi": (10, 60)})

Names are loaded when they are first used, so that ``import dpmondrian`` itself is quick.
"""

# Nothing is imported here: until this module and `dpmondrian.cli.main` are loaded, an interrupt of ``dpm`` ends in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dpmondrian._version import __version__
    from dpmondrian.accounts import Budget
    from dpmondrian.engines import Resources
    from dpmondrian.estimator import DPM
    from dpmondrian.exceptions import (
        BoundsError,
        BudgetError,
        CheckpointError,
        DataError,
        DPMondrianError,
        FewRowsWarning,
        FinishedRunError,
        MisfitWarning,
        NotReleasableWarning,
        OneClusterWarning,
        OutputError,
        ParameterError,
        PlotsMissingError,
        RandomnessError,
        ReleaseFileError,
        WeakPromiseWarning,
    )
    from dpmondrian.planning import forecast
    from dpmondrian.release import PrivacyStatement, Release, Tree
    from dpmondrian.schema import Category, Column, Schema, TableSchema, read_schema, write_schema
    from dpmondrian.show.report import render_report
    from dpmondrian.suggest import suggest_bounds
    from dpmondrian.tables import Source

__all__ = [
    "DPM",
    "BoundsError",
    "Budget",
    "BudgetError",
    "Category",
    "CheckpointError",
    "Column",
    "DPMondrianError",
    "DataError",
    "FewRowsWarning",
    "FinishedRunError",
    "MisfitWarning",
    "NotReleasableWarning",
    "OneClusterWarning",
    "OutputError",
    "ParameterError",
    "PlotsMissingError",
    "PrivacyStatement",
    "RandomnessError",
    "Release",
    "ReleaseFileError",
    "Resources",
    "Schema",
    "Source",
    "TableSchema",
    "Tree",
    "WeakPromiseWarning",
    "__version__",
    "forecast",
    "read_schema",
    "render_report",
    "suggest_bounds",
    "write_schema",
]

_HOMES = {
    "__version__": "_version",
    "DPM": "estimator",
    "Budget": "accounts.budget",
    "Category": "schema.columns",
    "Column": "schema.columns",
    "PrivacyStatement": "release.statement",
    "Release": "release.release",
    "Resources": "engines.store",
    "Schema": "schema.columns",
    "Source": "tables.source",
    "TableSchema": "schema.files",
    "Tree": "release.tree",
    "forecast": "planning",
    "read_schema": "schema.files",
    "render_report": "show.report",
    "suggest_bounds": "suggest.bounds",
    "write_schema": "schema.files",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'exceptions')}"), name)


def __dir__() -> list[str]:
    return __all__
