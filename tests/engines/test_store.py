"""Coded rows in memory and in a temporary file: what comes back, who can see it, and what is left behind."""

import os
import resource
import stat
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian.engines.store import Store
from dpmondrian.exceptions import DataError


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), max_size=12), st.none() | st.integers(0, 500))
def test_what_is_kept_comes_back(shapes, most_bytes):
    generator = np.random.default_rng(0)
    arrays = [generator.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]
    others = [generator.integers(0, 256, shape, dtype=np.uint8) for shape in shapes]
    with Store(most_bytes) as store:
        kept = [store.keep(array.copy()) for array in arrays]
        assert all(np.array_equal(one.get(), array) for one, array in zip(kept, arrays, strict=True))
        for one, other in zip(kept[::2], others[::2], strict=True):
            one.put(other)
        now = [other if i % 2 == 0 else array for i, (array, other) in enumerate(zip(arrays, others, strict=True))]
        assert all(np.array_equal(one.get(), array) for one, array in zip(kept, now, strict=True))
        in_memory = sum(array.nbytes for array in arrays) - store.spilled_bytes
        assert in_memory <= (np.inf if most_bytes is None else most_bytes)


@pytest.mark.parametrize(("most_bytes", "fits"), [(None, True), (100, True), (99, False)])
def test_rows_take_the_place_of_codes_only_as_far_as_memory_allows(most_bytes, fits):
    with Store(most_bytes) as store:
        old = [store.keep(np.ones(20, dtype=np.uint8)), store.keep(np.ones(20, dtype=np.uint8))]
        assert store.exchanged(old, 100) is fits
        assert [one.get().size for one in old] == ([0, 0] if fits else [20, 20])
        assert not store.keep(np.ones(61, dtype=np.uint8)).in_memory or most_bytes is None


def test_the_file_has_no_name_and_only_its_owner_can_read_it(tmp_path):
    with Store(0, str(tmp_path)) as store:
        store.keep(np.ones(100_000))
        assert list(tmp_path.iterdir()) == []
        [file] = open_files_of(tmp_path)
        assert file.st_size == 800_000
        assert stat.S_IMODE(file.st_mode) == 0o600
        assert file.st_nlink == 0
    assert open_files_of(tmp_path) == []


def open_files_of(folder):
    """Return the state of the files of a folder that this process has open, also of those without a name."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed meanwhile
            if os.readlink(f"/proc/self/fd/{number}").startswith(f"{folder}/"):
                found.append(os.fstat(int(number)))
    return found


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with Store(0, str(tmp_path / "nowhere")) as store, pytest.raises(DataError, match=r"No such file.*TMPDIR"):
        store.keep(np.ones(10))


def test_a_chosen_folder_is_never_passed_over(tmp_path, monkeypatch):
    """The system would take another one, which may lie on a disk that is not encrypted."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not mounted"))
    with Store(0) as store, pytest.raises(DataError, match="No such file"):
        store.keep(np.ones(10))


FULL = """
import resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from dpmondrian.engines.store import Store
from dpmondrian.exceptions import DataError
with Store(0, sys.argv[1]) as store:
    store.keep(np.ones(10_000, dtype=np.uint8))
    try:
        store.keep(np.ones(200_000, dtype=np.uint8))
    except DataError as error:
        print(error)
"""


def test_a_file_that_may_not_grow_is_said_and_nothing_is_left(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, timeout=600, check=True
    )
    assert "could not be written" in done.stdout
    assert "TMPDIR" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000
