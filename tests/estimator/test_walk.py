"""The walk of an array through the package: how many modules a reader meets who follows one fit."""

import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dpmondrian
from dpmondrian import DPM
from dpmondrian.common import interrupts

ROOT = Path(dpmondrian.__file__).parent
MOST_MODULES = 47
"""In which code of a seeded fit runs. It may become less, and should be 30."""
MOST_AROUND = 20
"""Of these, modules around the algorithm: all but those of `dpm`, `privacy` and the kernels."""


def modules_of(work):
    """Return the modules of the package whose functions run while something is done, in whichever thread."""
    found = set()

    def note(frame, event, argument):
        if frame.f_code.co_filename.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
            found.add(Path(frame.f_code.co_filename).relative_to(ROOT))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return found


@pytest.mark.slow
def test_a_fit_crosses_few_modules(monkeypatch):
    rows = np.repeat([[20.0, 20.0], [80.0, 80.0]], 2000, axis=0) + np.random.default_rng(0).normal(0, 3, (4000, 2))
    model = DPM(bounds=(0, 100), random_state=0)
    model.fit(rows)  # what runs only once, such as imports, is not counted
    monkeypatch.setattr(interrupts, "_IDLE", [])  # so that the thread that computes begins now
    crossed = modules_of(lambda: model.fit(rows))
    rooms = Counter(path.parts[0] for path in crossed)
    assert len(crossed) <= MOST_MODULES, rooms
    assert sum(number for room, number in rooms.items() if room not in ("dpm", "privacy", "kernels")) <= MOST_AROUND


def test_the_walk_is_seen():
    """Where it is counted, a module that is called is found, in other threads too."""

    def elsewhere():
        thread = threading.Thread(target=dpmondrian.Column, args=("age", 0, 120))
        thread.start()
        thread.join()

    assert Path("schema/columns.py") in modules_of(elsewhere)
