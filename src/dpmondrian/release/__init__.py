"""What may be published: the release, its tree and statement, and whether it is true."""

from __future__ import annotations

from dpmondrian.release.assembly import released
from dpmondrian.release.coreset import Coreset
from dpmondrian.release.csv_text import cells_text
from dpmondrian.release.differences import Difference
from dpmondrian.release.every_k import MOST_K, Clusters, Hierarchy, Qualities
from dpmondrian.release.explain import Explanation, explain
from dpmondrian.release.histograms import ColumnProfile, Histogram
from dpmondrian.release.labelling import Labeller
from dpmondrian.release.measured import Description, Measured, Quality
from dpmondrian.release.profiles import Profile, Profiles
from dpmondrian.release.release import Release, text_of
from dpmondrian.release.statement import (
    ADD_OR_REMOVE,
    PERSON,
    SEEDED,
    Account,
    Cost,
    Origin,
    PrivacyStatement,
    Unit,
    counted_in,
    is_data_set_name,
    make_statement,
    today,
    unit_of,
)
from dpmondrian.release.tree import Condition, Rule, Tree

__all__ = [
    "ADD_OR_REMOVE",
    "MOST_K",
    "PERSON",
    "SEEDED",
    "Account",
    "Clusters",
    "ColumnProfile",
    "Condition",
    "Coreset",
    "Cost",
    "Description",
    "Difference",
    "Explanation",
    "Hierarchy",
    "Histogram",
    "Labeller",
    "Measured",
    "Origin",
    "PrivacyStatement",
    "Profile",
    "Profiles",
    "Qualities",
    "Quality",
    "Release",
    "Rule",
    "Tree",
    "Unit",
    "cells_text",
    "counted_in",
    "explain",
    "is_data_set_name",
    "make_statement",
    "released",
    "text_of",
    "today",
    "unit_of",
]
