"""How long to fuzz, and small valid things to damage.

``make fuzz`` sets DPMONDRIAN_FUZZ to a number of examples; then every run tries others. Without it, examples are few and always
the same.
"""

import os
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from dpmondrian import DPM, Category, Column, Schema

MORE = int(os.environ.get("DPMONDRIAN_FUZZ", "0"))

for name, n_examples in (("fuzz slow things", 40), ("fuzz", 100), ("fuzz quick things", 400)):
    settings.register_profile(
        name,
        max_examples=MORE or n_examples,
        derandomize=not MORE,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@lru_cache
def invented_people() -> pd.DataFrame:
    """Return two groups of 300 people with everything that a table may hold."""
    generator = np.random.default_rng(1)
    old = np.arange(300) % 2 == 1
    return pd.DataFrame(
        {
            "age": np.where(old, 70, 30) + generator.normal(0, 3, 300),
            "income": np.exp(np.where(old, 11, 8) + generator.normal(0, 0.2, 300)),
            "children": generator.integers(0, 5, 300),
            "plan": np.where(generator.random(300) < 0.3, "basic", "premium"),
            "person": [f"P{number // 2}" for number in range(300)],
        }
    )


EVERYTHING = Schema(
    (
        Column("age", 0, 120, unit="years"),
        Column("income", 100, 1e6, log=True),
        Column("children", 0, 12, whole=True),
        Category("plan", ("basic", "premium"), cut=True),
    )
)


@lru_cache
def saved_releases() -> dict[str, str]:
    """Return the JSON text of small releases of every kind, by name."""
    people, numbers = invented_people(), invented_people()[["age", "children"]].to_numpy()
    everything = {"bounds": EVERYTHING, "person_id": "person", "rows_per_person": 2}
    models = {
        "numbers": DPM(epsilon=20.0, bounds=(0, 120), random_state=0).fit(numbers),
        "everything": DPM(epsilon=20.0, **everything, random_state=0).fit(people),
        "k": DPM(epsilon=20.0, bounds=(0, 120), n_clusters=3, random_state=0).fit(numbers),
        "paper": DPM(epsilon=20.0, bounds=(0, 120), variant="paper", random_state=0).fit(numbers),
        "pure": DPM(epsilon=20.0, delta=0.0, bounds=(0, 120), random_state=0).fit(numbers),
        "one cluster": DPM(epsilon=0.1, bounds=(0, 120), max_depth=0, random_state=0).fit(numbers),
    }
    return {name: model.release_.to_json() for name, model in models.items()}


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    """Return invented people."""
    return invented_people()


@pytest.fixture(scope="session")
def releases() -> dict[str, str]:
    """Return saved releases of every kind."""
    return saved_releases()
