"""dpmondrian: clustering of sensitive data that may be published.

>>> from dpmondrian import DPM
>>> model = DPM(epsilon=1.0, delta=1e-7, bounds={"age": (0, 120), "bmi": (10, 60)})
"""

from dpmondrian._version import __version__
from dpmondrian.accounting.statement import PrivacyStatement
from dpmondrian.artifact import Release
from dpmondrian.domain import Column, Schema
from dpmondrian.estimator import DPM
from dpmondrian.exceptions import (
    BoundsError,
    BudgetError,
    DataError,
    DPMondrianError,
    NotReleasableWarning,
    ParameterError,
    ReleaseFileError,
)
from dpmondrian.tree.structure import Tree

__all__ = [
    "DPM",
    "BoundsError",
    "BudgetError",
    "Column",
    "DPMondrianError",
    "DataError",
    "NotReleasableWarning",
    "ParameterError",
    "PrivacyStatement",
    "Release",
    "ReleaseFileError",
    "Schema",
    "Tree",
    "__version__",
]
