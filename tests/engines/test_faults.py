"""What goes wrong while a large table is read: a clear error, nothing spent, nothing left behind."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian import DPM, Budget, Resources
from dpmondrian.engines import store
from dpmondrian.exceptions import DataError

BOUNDS = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three Parquet files."""
    rng = np.random.default_rng(0)
    (tmp_path / "rows").mkdir()
    for number in range(3):
        write(tmp_path / "rows" / f"{number}.parquet", rng.random((5000, 2)))
    return tmp_path / "rows"


FLOATS = pa.float64(), pa.float64()


def write(path, rows, types=FLOATS):
    columns = {
        name: pa.array(rows[:, j].tolist()).cast(kind) for j, (name, kind) in enumerate(zip("xy", types, strict=True))
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000)


def truncate(folder):
    path = folder / "1.parquet"
    path.write_bytes(path.read_bytes()[:-200])


def damage_in_the_middle(folder):
    path = folder / "1.parquet"
    content = bytearray(path.read_bytes())
    for position in range(200, 20_000, 7):
        content[position] ^= 0xFF
    path.write_bytes(bytes(content))


def change_a_type(folder):
    write(folder / "1.parquet", np.zeros((10, 2)), (pa.float64(), pa.string()))


def take_a_column_away(folder):
    pq.write_table(pa.table({"x": [0.5]}), folder / "1.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [truncate, damage_in_the_middle, change_a_type, take_a_column_away])
@pytest.mark.parametrize("memory", [None, 0])
def test_a_damaged_file_costs_nothing(fault, memory, folder, tmp_path):
    (tmp_path / "temporary").mkdir()
    resources = Resources(memory=memory, folder=str(tmp_path / "temporary"))
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)
    fault(folder)
    with pytest.raises(DataError, match=r"1\.parquet"):
        DPM(epsilon=1.0, bounds=BOUNDS).fit(folder, budget=budget, resources=resources)
    assert budget.read().entries == ()
    assert list((tmp_path / "temporary").iterdir()) == []
    (folder / "1.parquet").unlink()
    DPM(epsilon=1.0, bounds=BOUNDS).fit(folder, budget=budget, resources=resources)
    [entry] = budget.read().entries
    assert entry.epsilon == 1.0


def test_a_file_that_disappears_before_the_rows_are_coded_costs_nothing(folder, tmp_path, monkeypatch):
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)
    check = DPM._check_categories

    def check_and_delete(*given):
        check(*given)
        (folder / "2.parquet").unlink()

    monkeypatch.setattr(DPM, "_check_categories", staticmethod(check_and_delete))
    with pytest.raises(DataError, match=r"2\.parquet"):
        DPM(epsilon=1.0, bounds=BOUNDS).fit(folder, budget=budget)
    assert budget.read().entries == ()


def test_a_file_that_disappears_afterwards_is_not_missed(folder):
    """Rows are decoded once; later passes read codes only."""

    def delete_all(name, done, planned):
        for path in folder.iterdir():
            path.unlink()

    model = DPM(bounds=BOUNDS, random_state=0).fit(folder, progress=delete_all)
    assert model.n_clusters_ >= 1
    assert list(folder.iterdir()) == []


def test_the_paper_reads_again_and_says_what_is_gone(folder, tmp_path):
    """What was released before is paid for, and the plan is not charged a second time."""
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)

    def delete_one(name, done, planned):
        (folder / "2.parquet").unlink(missing_ok=True)

    with pytest.raises(DataError, match=r"2\.parquet"):
        DPM(epsilon=1.0, bounds=BOUNDS, variant="paper").fit(folder, budget=budget, progress=delete_one)
    assert [entry.epsilon for entry in budget.read().entries] == [1.0]


@pytest.mark.parametrize("failing", [0, 1, 7])
def test_a_full_disk_while_spilling_costs_nothing(failing, folder, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    budget = Budget.create(tmp_path / "budget.json", epsilon=1.0, delta=1e-6)
    written = []

    def pwrite(*given):
        written.append(given)
        if len(written) > failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(*given)

    monkeypatch.setattr(store, "os", FewCalls(pwrite))
    resources = Resources(memory=0, folder=str(tmp_path / "temporary"))
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        DPM(epsilon=1.0, bounds=BOUNDS).fit(folder, budget=budget, resources=resources)
    assert budget.read().entries == ()
    assert list((tmp_path / "temporary").iterdir()) == []


class FewCalls:
    """The calls of the system that a store makes, one of them exchanged."""

    preadv = staticmethod(os.preadv)

    def __init__(self, pwrite):
        self.pwrite = pwrite


SMALL_DISK = """
mount -t tmpfs -o size=64k tmpfs "$1" || exit 77
exec "$2" -c '
import sys
from dpmondrian import DPM, Resources
from dpmondrian.exceptions import DataError
try:
    DPM(bounds={"x": (0.0, 1.0), "y": (0.0, 1.0)}).fit(sys.argv[1], resources=Resources(memory=0, folder=sys.argv[2]))
except DataError as error:
    print(error)
    print(__import__("os").listdir(sys.argv[2]))
' "$3" "$1"
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full(folder, tmp_path):
    """On a file system of 64 KiB, where the system lets a user mount one."""
    (tmp_path / "small").mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh"]
    done = subprocess.run(
        [*command, tmp_path / "small", sys.executable, folder], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode in (1, 77) and "DataError" not in done.stderr and not done.stdout:
        pytest.skip("A file system cannot be mounted here without rights.")
    message, left = done.stdout.strip().splitlines()
    assert "No space left on device" in message
    assert left == "[]"


@pytest.mark.slow
def test_memory_does_not_depend_on_rows_and_the_limit_is_kept():
    """Four times as many rows, spilled: the same peak, give or take what reading takes."""
    script = Path(__file__).with_name("peak_memory.py")
    peaks = [
        int(subprocess.run([sys.executable, script, str(n)], capture_output=True, text=True, check=True).stdout)
        for n in (250_000, 1_000_000)
    ]
    assert peaks[1] - peaks[0] < 25_000_000
