"""What may be published: the release, its tree and statement, and whether it is true."""

from __future__ import annotations

from dpmondrian.release.assembly import released_centres, released_tree
from dpmondrian.release.explain import Explanation, explain
from dpmondrian.release.labelling import Labeller
from dpmondrian.release.origin import Account, Cost, Origin, is_data_set_name, today
from dpmondrian.release.release import Release, text_of
from dpmondrian.release.statement import ADD_OR_REMOVE, SEEDED, PrivacyStatement, make_statement
from dpmondrian.release.tree import Condition, Rule, Tree
from dpmondrian.release.unit import PERSON, Unit, counted_in, unit_of

__all__ = [
    "ADD_OR_REMOVE",
    "PERSON",
    "SEEDED",
    "Account",
    "Condition",
    "Cost",
    "Explanation",
    "Labeller",
    "Origin",
    "PrivacyStatement",
    "Release",
    "Rule",
    "Tree",
    "Unit",
    "counted_in",
    "explain",
    "is_data_set_name",
    "make_statement",
    "released_centres",
    "released_tree",
    "text_of",
    "today",
    "unit_of",
]
