"""Budget files: nothing that was charged is ever lost, nothing beyond the total is ever charged."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fractions import Fraction

import filelock
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import __version__
from dpmondrian.accounts import budget as budget_module
from dpmondrian.accounts import locking as single
from dpmondrian.accounts.budget import Budget, BudgetEntry, BudgetState
from dpmondrian.exceptions import BudgetError, ParameterError
from dpmondrian.release.statement import unit_of

SHA = "ab" * 32
ODD_NAME = 'it\'s "x" \\ \n'


@pytest.fixture
def path(tmp_path):
    return tmp_path / "patients.json"


@pytest.fixture
def budget(path):
    return Budget.create(path, epsilon=1.0, delta=1e-6, data_set="patients")


def test_a_new_budget_is_whole(budget, path):
    state = budget.read()
    assert state == BudgetState("patients", 1.0, 1e-6, ())
    assert (state.spent_epsilon, state.spent_delta, state.left) == (0, 0, (1.0, 1e-6))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_the_documented_json(budget, path):
    begin = datetime.now(UTC).replace(microsecond=0)
    first, second = budget.charge(0.25, 1e-7, "Märkte"), budget.charge(0.5, 0, "second")
    budget.finish(first, SHA)
    values = json.loads(path.read_text(encoding="utf-8"))
    times = [entry.pop("time") for entry in values["entries"]]
    assert values == {
        "format": "dpmondrian budget",
        "format_version": 2,
        "data_set": "patients",
        "total": {"epsilon": 1.0, "delta": 1e-6},
        "entries": [
            {
                "id": first,
                "purpose": "Märkte",
                "epsilon": 0.25,
                "delta": 1e-7,
                "state": "released",
                "release": SHA,
                "version": __version__,
                "unit": {"of": "row", "person_id": None, "assumed_rows": None},
            },
            {
                "id": second,
                "purpose": "second",
                "epsilon": 0.5,
                "delta": 0.0,
                "state": "charged",
                "release": None,
                "version": __version__,
                "unit": {"of": "row", "person_id": None, "assumed_rows": None},
            },
        ],
    }
    for text in times:
        assert begin <= datetime.fromisoformat(text) <= datetime.now(UTC)


def test_rounding_of_floats_does_not_matter(path):
    budget = Budget.create(path, 0.3, 0.0)
    budget.charge(0.1, 0, "x")
    budget.charge(0.2, 0, "0.1 + 0.2 is a little more than 0.3 in floats")
    with pytest.raises(BudgetError, match="does not allow"):
        budget.charge(1e-6, 0, "x")


def test_charges_add_up(budget):
    for _ in range(10):  # 0.1 ten times is not exactly 1 in floats
        budget.charge(0.1, 1e-7, "x")
    state = budget.read()
    assert state.spent_epsilon == pytest.approx(1.0)
    assert state.spent_delta == pytest.approx(1e-6)
    assert max(state.left) < 1e-9
    with pytest.raises(BudgetError, match="epsilon of 1, 1 is already spent, and 1e-06 was requested"):
        budget.charge(1e-6, 0, "too much")


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (
            0.7,
            0.0,
            "a total epsilon of 1, 0.4 is already spent, and 0.7 was requested. Nothing was charged. Request at most 0.6",
        ),
        (0.6 + 1e-8, 0.0, "total epsilon"),
        (0.1, 6e-7, "a total delta of 1e-06, 5e-07 is already spent, and 6e-07 was requested"),
    ],
)
def test_too_much_is_refused_and_not_charged(budget, path, epsilon, delta, words):
    budget.charge(0.4, 5e-7, "first")
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=words):
        budget.charge(epsilon, delta, "second")
    assert path.read_bytes() == before
    budget.charge(0.6, 5e-7, "fits exactly")


def test_a_large_total_is_not_exceeded_by_more_than_a_small_one(path):
    """The tolerance is for the rounding of floats, not a share that grows with the total."""
    budget = Budget.create(path, 1e6, 0.0)
    budget.charge(999_999.0, 0.0, "first")
    with pytest.raises(BudgetError, match="does not allow"):
        budget.charge(1.0 + 1e-5, 0.0, "a little too much")
    budget.charge(1.0, 0.0, "fits exactly")


def test_units_are_not_mixed(budget, path):
    budget.charge(0.1, 0.0, "first", unit=unit_of(3, None))
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=r"its unit is 'one person with up to 3 rows'.*Nothing was charged"):
        budget.charge(0.1, 0.0, "second")
    assert path.read_bytes() == before
    budget.charge(0.1, 0.0, "second", unit=unit_of(3, None))
    assert budget.read().unit == unit_of(3, None)
    with pytest.raises(ParameterError, match="'unit' parameter"):
        budget.charge(0.1, 0.0, "third", unit="one row")
    values = json.loads(path.read_text())
    values["entries"][0]["unit"] = unit_of(1, None).to_dict()
    path.write_text(json.dumps(values))
    with pytest.raises(BudgetError, match="different units"):
        budget.read()


def test_people_who_are_identified_are_one_unit_however_many_rows_are_kept(budget):
    budget.charge(0.1, 0.0, "first", unit=unit_of(3, "who"))
    budget.charge(0.1, 0.0, "second", unit=unit_of(1, "who"))
    with pytest.raises(BudgetError, match=r"its unit is .*'who'.*Nothing was charged"):
        budget.charge(0.1, 0.0, "third", unit=unit_of(1, "patient"))


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (None, unit_of(1, None)),
        ("one row", unit_of(1, None)),
        ("one person with up to 3 rows", unit_of(3, None)),
        (f"one person, told by column {'a b'!r}", unit_of(1, "a b")),
        (f"one person, told by column {ODD_NAME!r}", unit_of(1, ODD_NAME)),
    ],
)
def test_units_in_the_words_of_version_1_are_read(budget, path, words, unit):
    as_version_1(budget, path, words)
    assert budget.read().unit == unit
    budget.charge(0.1, 0.0, "second", unit=unit)
    assert json.loads(path.read_text())["format_version"] == 2
    assert [entry.unit for entry in budget.read().entries] == [unit, unit]


@pytest.mark.parametrize(
    "words", ["", "a household", "one person, told by column 'a' + 'b'", "one person with up to 1 rows", 7]
)
def test_units_in_other_words_are_refused(budget, path, words):
    as_version_1(budget, path, words)
    with pytest.raises(BudgetError, match="damaged or not a budget file"):
        budget.read()


def as_version_1(budget, path, words):
    """Charge a budget, and write its file as version 1 did; the oldest files said no unit."""
    budget.charge(0.1, 0.0, "first")
    values = json.loads(path.read_text()) | {"format_version": 1}
    del values["entries"][0]["unit"]
    values["entries"][0] |= {} if words is None else {"unit": words}
    path.write_text(json.dumps(values))


def test_without_delta_only_pure_charges_fit(path):
    budget = Budget.create(path, 1.0, 0.0)
    with pytest.raises(BudgetError, match="total delta of 0"):
        budget.charge(0.1, 1e-300, "x")
    budget.charge(1.0, 0.0, "x")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1e-6, 0.5), max_size=12))
def test_never_more_than_the_total(tmp_path_factory, charges):
    budget = Budget.create(tmp_path_factory.mktemp("budget") / "b.json", 1.0, 0.0)
    total = Fraction(0)
    for epsilon in charges:
        fits = total + Fraction(epsilon) <= 1
        try:
            budget.charge(epsilon, 0.0, "x")
        except BudgetError:
            assert not fits
        else:
            total += Fraction(epsilon)
        assert total <= 1 + Fraction(1, 10**9)
    assert budget.read().spent_epsilon == float(total)


@pytest.mark.parametrize(
    "arguments",
    [(0, 0, "x"), (-1, 0, "x"), (float("nan"), 0, "x"), (float("inf"), 0, "x"), (True, 0, "x"), ("1", 0, "x"), (0.1, -1e-9, "x"),
     (0.1, 1, "x"), (0.1, 0, 5), (0.1, 0, "two\nlines"), (0.1, 0, "x" * 1001), (0.1, 0, "\ud800")],
)  # fmt: skip
def test_wrong_charges_are_refused(budget, path, arguments):
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="parameter must be"):
        budget.charge(*arguments)
    assert path.read_bytes() == before


def test_finish_takes_an_open_charge_once(budget):
    entry = budget.charge(0.1, 0, "x")
    for wrong in ("abc", SHA.upper(), 5, SHA + "a"):
        with pytest.raises(ParameterError, match="64 hexadecimal digits"):
            budget.finish(entry, wrong)
    with pytest.raises(BudgetError, match="no open charge 'unknown'"):
        budget.finish("unknown", None)
    budget.finish(entry, None)
    assert budget.read().entries[0].state == "released"
    with pytest.raises(BudgetError, match="no open charge"):
        budget.finish(entry, SHA)
    assert budget.read().spent_epsilon == 0.1


def test_a_run_that_is_continued_is_charged_once(budget, path):
    assert budget.find("run-1") is None
    assert budget.charge(0.6, 1e-7, "x", None, "run-1") == "run-1"
    before = path.read_bytes()
    assert budget.charge(0.6, 1e-7, "x", None, "run-1") == "run-1", "although too little is left for another one"
    assert path.read_bytes() == before
    assert (budget.find("run-1").epsilon, budget.find("run-1").is_released) == (0.6, False)
    for other in ((0.5, 1e-7, "x", None), (0.6, 0.0, "x", None), (0.6, 1e-7, "x", unit_of(2, None))):
        with pytest.raises(
            BudgetError, match=r"already has a different charge with the id 'run-1'. Nothing was charged"
        ):
            budget.charge(*other, "run-1")
    budget.finish("run-1", SHA)
    assert budget.find("run-1").is_released
    for wrong in ("", "UPPER", "x" * 65, 5, "a b"):
        with pytest.raises(ParameterError, match="'entry_id' parameter"):
            budget.charge(0.1, 0, "x", entry_id=wrong)
    assert len(budget.read().entries) == 1


def test_create_never_overwrites(budget, path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(BudgetError, match="already exists"):
        Budget.create(path, 5.0, 0.0)
    assert path.read_bytes() == before
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BudgetError, match="exists"):
        Budget.create(tmp_path / "link.json", 5.0, 0.0)
    for wrong in ({"epsilon": 0}, {"delta": 1}, {"epsilon": float("nan")}, {"data_set": 5}, {"data_set": "a\nb"}):
        with pytest.raises(ParameterError):
            Budget.create(tmp_path / "new.json", **{"epsilon": 1.0, "delta": 0.0, **wrong})
    assert not (tmp_path / "new.json").exists()


def test_a_missing_file_tells_the_way_out(path, tmp_path):
    for action in (Budget(path).read, lambda: Budget(path).charge(0.1, 0, "x"), lambda: Budget(path).finish("x", None)):
        with pytest.raises(
            BudgetError, match=r"does not exist\. Create it with: dpm budget new .*json --epsilon E --delta D"
        ):
            action()
    for action in (
        lambda: Budget(tmp_path / "none" / "b.json").charge(0.1, 0, "x"),
        lambda: Budget.create(tmp_path / "none" / "b.json", 1.0, 0.0),
    ):
        with pytest.raises(BudgetError, match="does not exist"):
            action()
    assert list(tmp_path.iterdir()) == []


# --- hostile and damaged files

GOOD = BudgetState(
    "d", 1.0, 1e-6, (BudgetEntry("a1", "2024-01-01T00:00:00+00:00", "p", 0.5, 0.0), BudgetEntry("b2", "2024-01-01T00:00:00+00:00", "p", 0.1, 0.0, "released", SHA))
)  # fmt: skip


def changed(*path_and_value):
    """Return the good file with one value changed, or taken away."""
    *path, key, value = path_and_value
    values = json.loads(GOOD.to_json())
    inner = values
    for step in path:
        inner = inner[step]
    if value is ...:
        del inner[key]
    else:
        inner[key] = value
    return json.dumps(values).encode()


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"5",
    b"{}",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"format": "dpmondrian budget"}',
    GOOD.to_json().encode()[:-10],
    GOOD.to_json().encode() * 2,
    GOOD.to_json().replace('"delta": 0.0', '"delta": 0.0, "delta": 0.0').encode(),
    GOOD.to_json().replace("0.5", "NaN").encode(),
    GOOD.to_json().replace("0.5", "Infinity").encode(),
    GOOD.to_json().replace("0.5", "1e999").encode(),
    GOOD.to_json().replace("0.5", "-0.5").encode(),
    GOOD.to_json().replace("0.5", "1" * 5000).encode(),
    GOOD.to_json().replace("0.5", "1" * 400).encode(),
    changed("format", "dpmondrian release"),
    changed("format_version", 3),
    changed("format_version", 1),
    changed("format_version", True),
    changed("format_version", 1.5),
    changed("format_version", ...),
    changed("data_set", 5),
    changed("data_set", ["x"]),
    changed("total", 1.0),
    changed("total", "epsilon", ...),
    changed("total", "epsilon", 0),
    changed("total", "epsilon", "1"),
    changed("total", "epsilon", True),
    changed("total", "delta", 1.5),
    changed("total", "more", 1),
    changed("more", 1),
    changed("entries", {}),
    changed("entries", None),
    changed("entries", 0, 5),
    changed("entries", 0, "epsilon", 0),
    changed("entries", 0, "epsilon", None),
    changed("entries", 0, "epsilon", 1e7),
    changed("entries", 0, "delta", 1),
    changed("entries", 0, "delta", [0]),
    changed("entries", 0, "id", "b2"),
    changed("entries", 0, "id", ""),
    changed("entries", 0, "id", ["a"]),
    changed("entries", 0, "id", "A/../b"),
    changed("entries", 0, "time", "yesterday"),
    changed("entries", 0, "time", "2024-01-01T00:00:00"),
    changed("entries", 0, "time", "2024-01-01T00:00:00+02:00"),
    changed("entries", 0, "time", 5),
    changed("entries", 0, "purpose", 5),
    changed("entries", 0, "purpose", "x" * 2000),
    changed("entries", 0, "state", "free"),
    changed("entries", 0, "state", {}),
    changed("entries", 0, "release", SHA),
    changed("entries", 1, "release", "abc"),
    changed("entries", 1, "release", 5),
    changed("entries", 0, "version", None),
    changed("entries", 0, "version", ...),
    changed("entries", 0, "extra", 1),
    changed("entries", 0, "unit", ...),
    changed("entries", 0, "unit", None),
    changed("entries", 0, "unit", "one row"),
    changed("entries", 0, "unit", {"of": "row"}),
    changed("entries", 0, "unit", "of", "household"),
    changed("entries", 0, "unit", "of", "person"),
    changed("entries", 0, "unit", "of", ["row"]),
    changed("entries", 0, "unit", "person_id", "who"),
    changed("entries", 0, "unit", "assumed_rows", 2),
]


def test_the_good_file_is_read(path):
    path.write_text(GOOD.to_json())
    assert Budget(path).read() == GOOD


@pytest.mark.parametrize("content", HOSTILE)
def test_damaged_files_are_refused_and_left_alone(path, content):
    path.write_bytes(content)
    for action in (
        Budget(path).read,
        lambda: Budget(path).charge(0.1, 0, "x"),
        lambda: Budget(path).finish("a1", None),
        lambda: Budget.create(path, 1.0, 0.0),
    ):
        with pytest.raises(BudgetError) as caught:
            action()
        assert len(str(caught.value)) < 600
    assert path.read_bytes() == content


def test_files_that_are_no_files(budget, path, tmp_path):
    (tmp_path / "link.json").symlink_to(path)
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name, words in (
        ("link", "links are not accepted"),
        ("folder", "EISDIR|regular file"),
        ("pipe", "regular file"),
    ):
        for action in (
            Budget(tmp_path / f"{name}.json").read,
            lambda n=name: Budget(tmp_path / f"{n}.json").charge(0.1, 0, "x"),
        ):
            with pytest.raises(BudgetError, match=words) as caught:
                action()
            assert "damaged" not in str(caught.value)
    os.link(path, tmp_path / "copy.json")
    with pytest.raises(BudgetError, match="several hard links"):
        budget.charge(0.1, 0, "x")


def test_a_file_that_is_too_large(budget, path, monkeypatch):
    monkeypatch.setattr("dpmondrian.accounts.budget.LARGEST_FILE", 10)
    with pytest.raises(BudgetError, match="too large"):
        budget.read()


def test_a_lowered_total_leaves_nothing(budget, path):
    budget.charge(0.5, 0, "x")
    path.write_text(path.read_text().replace('"epsilon": 1.0', '"epsilon": 0.25'))
    assert budget.read().left == (0.0, 1e-6)
    with pytest.raises(BudgetError, match="Request at most 0,"):
        budget.charge(0.1, 0, "x")


# --- writing


def test_permissions_are_kept(budget, path):
    path.chmod(0o640)
    budget.charge(0.1, 0, "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_leftovers_are_removed_at_the_next_charge(budget, path, tmp_path):
    leftover = tmp_path / f".{path.name}.{'0' * 16}.part"
    others = [
        tmp_path / f".other.json.{'0' * 16}.part",
        tmp_path / f".{path.name}.part",
        tmp_path / f"x.{path.name}.{'0' * 16}.part",
    ]
    for file in (leftover, *others):
        file.write_text("{")
    assert budget.read().entries == ()
    assert leftover.exists()
    budget.charge(0.1, 0, "x")
    assert not leftover.exists()
    assert all(other.exists() for other in others)


def test_a_held_lock_is_told(budget, path):
    program = f"import filelock, sys; lock = filelock.FileLock({str(path) + '.lock'!r}); lock.acquire(); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BudgetError, match=r"has been locked by another process for more than 0\.2 seconds"):
            Budget(path, timeout=0.2).charge(0.1, 0, "x")
        assert budget.read().entries == ()
    finally:
        holder.kill()
        holder.communicate()
    budget.charge(0.1, 0, "the lock of a killed process is free")


def test_a_lock_is_given_back_after_an_error(budget, path):
    with pytest.raises(BudgetError):
        budget.charge(2.0, 0, "x")
    with filelock.FileLock(f"{path}.lock", timeout=0):
        pass


def test_a_lock_that_is_deleted_during_a_charge_loses_no_charge(budget, path, monkeypatch):
    """Another process would find no lock, and put its charge in place of the first one."""
    real = budget_module.put_file

    def meanwhile(*arguments, **keywords):
        monkeypatch.setattr(budget_module, "put_file", real)
        os.unlink(f"{path}.lock")
        with pytest.raises(BudgetError, match="locked by another process"):
            Budget(path, timeout=0.05).charge(0.2, 0, "second")
        real(*arguments, **keywords)

    monkeypatch.setattr(budget_module, "put_file", meanwhile)
    budget.charge(0.1, 0, "first")
    budget.charge(0.2, 0, "second")
    assert [entry.purpose for entry in budget.read().entries] == ["first", "second"]


def test_whoever_waited_for_a_file_that_was_replaced_charges_the_new_one(budget, path, monkeypatch):
    """The lock of the old file is free then, and protects nothing."""
    real, opened = single.lock, []

    def replaced_meanwhile(handle):
        opened.append(os.fstat(handle).st_ino)
        if len(opened) == 1:
            monkeypatch.setattr(single, "lock", real)
            os.unlink(f"{path}.lock")
            Budget(path).charge(0.2, 0, "meanwhile")
            monkeypatch.setattr(single, "lock", replaced_meanwhile)
        return real(handle)

    monkeypatch.setattr(single, "lock", replaced_meanwhile)
    budget.charge(0.1, 0, "then")
    assert len(set(opened)) == 2
    assert [entry.purpose for entry in budget.read().entries] == ["meanwhile", "then"]


@pytest.mark.parametrize("change", [lambda b: b.charge(0.1, 0, "x"), lambda b: b.finish("an-id", None)])
def test_a_read_only_budget_is_not_changed(budget, path, change):
    """Not by the superuser either, whom the system lets write."""
    budget.charge(0.1, 0, "before", entry_id="an-id")
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=r"is read-only \(mode 0444\) and was not changed.*chmod u\+w"):
        change(budget)
    assert path.read_bytes() == before
    assert len(budget.read().entries) == 1
    path.chmod(0o600)
    change(budget)


def test_an_account_of_many_entries_is_read_once_per_charge(budget, path, monkeypatch):
    entries = tuple(BudgetEntry(f"{n}", "2026-01-01T00:00:00+00:00", "x", 1e-6, 0.0) for n in range(500))
    path.write_text(BudgetState("many", 1.0, 1e-6, entries).to_json())
    checked, real = [], BudgetEntry.__post_init__

    def counted(entry):
        checked.append(entry)
        real(entry)

    monkeypatch.setattr(BudgetEntry, "__post_init__", counted)
    entry = budget.charge(0.1, 0, "x")
    assert len(checked) == 501
    for _ in range(3):
        assert budget.find(entry).purpose == "x"
    assert len(checked) == 501 + 501, "the same bytes are read once"
    assert sum(line.lstrip().startswith('{"id"') for line in path.read_text().splitlines()) == 501, "a line each"


def test_a_charge_is_on_the_disk_before_it_is_reported(budget, path, monkeypatch):
    """The order of calls: write, flush the file, rename, flush the folder."""
    calls = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(handle):
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_fsync(handle)

    def replace(source, target):
        calls.append("replace")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    budget.charge(0.1, 0, "x")
    assert calls == ["file", "replace", "folder"]


@pytest.mark.parametrize("call", ["fsync", "replace", "open", "listdir"])
def test_an_error_of_the_disk_is_told_and_nothing_is_charged(budget, path, tmp_path, monkeypatch, call):
    budget.charge(0.1, 0, "x")
    before = path.read_bytes()
    real_open = os.open

    def failing(*arguments, **keywords):
        if call == "open" and not str(arguments[0]).endswith(".part"):
            return real_open(*arguments, **keywords)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(BudgetError, match=r"cannot be written, so nothing may be computed \(ENOSPC\)"):
        budget.charge(0.1, 0, "x")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


FULL_DISK = """
import resource, signal, sys
from dpmondrian.exceptions import BudgetError
from dpmondrian.accounts.budget import Budget
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
budget = Budget(sys.argv[1])
for charge in range(100):
    try:
        budget.charge(0.001, 0, "x" * 50)
    except BudgetError as error:
        print(charge, len(budget.read().entries), error)
        break
"""


@pytest.mark.slow
def test_a_full_disk_charges_nothing(budget, path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, timeout=600, check=True
    )
    charged, kept, message = done.stdout.split(" ", 2)
    assert int(charged) == int(kept) > 0
    assert "cannot be written" in message
    assert len(budget.read().entries) == int(charged)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


# --- several processes, and kills

CHARGE = """
import sys, time
from dpmondrian.exceptions import BudgetError
from dpmondrian.accounts.budget import Budget
budget = Budget(sys.argv[1], timeout=600)
while True:
    time.sleep(0.002)  # so that the other one gets the lock too
    try:
        print(budget.charge(float(sys.argv[2]), 0, "x"), flush=True)
    except BudgetError as error:
        assert "does not allow" in str(error), error
        break
"""


def charging(path, epsilon):
    return subprocess.Popen([sys.executable, "-c", CHARGE, str(path), str(epsilon)], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_concurrent_processes_never_go_over_the_total(budget, path):
    processes = [charging(path, 0.01) for _ in range(3)]
    ids = [process.communicate(timeout=600)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    entries = [entry.id for entry in budget.read().entries]
    assert sorted(entries) == sorted(entry for of_process in ids for entry in of_process)
    assert len(entries) == 100


def test_concurrent_threads_never_go_over_the_total(budget, path):
    def charge(_):
        try:
            return Budget(path, timeout=600).charge(0.1, 0, "x")
        except BudgetError as error:
            return None if "does not allow" in str(error) else str(error)

    with ThreadPoolExecutor(8) as pool:
        ids = [entry for entry in pool.map(charge, range(30)) if entry]
    assert len(ids) == 10
    assert sorted(ids) == sorted(entry.id for entry in budget.read().entries)


@pytest.mark.slow
def test_killed_processes_lose_nothing(path):
    """Two writers at a time are killed at random moments; what they reported is in the file, which always parses."""
    budget = Budget.create(path, 1000.0, 0.0)
    generator = random.Random(1)
    reported = set()
    for _ in range(3):
        writers = [charging(path, 0.001) for _ in range(2)]
        firsts = [writer.stdout.readline() for writer in writers]
        time.sleep(generator.random() * 0.05)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        # A line is reported when it is whole: a kill may cut the last one.
        lines = "".join(
            line
            for first, writer in zip(firsts, writers, strict=True)
            for line in (first, *writer.stdout)
            if line.endswith("\n")
        )
        for writer in writers:
            assert writer.wait() == -signal.SIGKILL
            writer.stdout.close()
        reported |= set(lines.split())
        assert reported <= {entry.id for entry in budget.read().entries}
    assert len(reported) >= 6
    budget.charge(0.1, 0, "goes on")


KILL_EVERYWHERE = """
import json, os, signal, sys
from dpmondrian.accounts.budget import Budget
path = sys.argv[1]
budget = Budget(path)
budget.charge(0.001, 0, "warm")
watched = ["open", "close", "fsync", "replace", "listdir", "fchmod", "fchown", "urandom", "fstat", "unlink"]
results = []
for moment in range(60):
    before = len(budget.read().entries)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        left = [moment]
        def deadly(real):
            def call(*arguments, **keywords):
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                return real(*arguments, **keywords)
            return call
        for name in watched:
            setattr(os, name, deadly(getattr(os, name)))
        os.write(writing, budget.charge(0.001, 0, "x").encode())
        os._exit(0)
    os.close(writing)
    entry = os.read(reading, 100).decode()
    os.close(reading)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    entries = budget.read().entries
    results.append([killed, len(entries) - before, bool(entry), entry in {e.id for e in entries}])
    if not killed:
        break
budget.charge(0.001, 0, "goes on")
print(json.dumps(results), [name for name in os.listdir(os.path.dirname(path)) if name.endswith(".part")])
"""


@pytest.mark.slow
def test_a_kill_before_any_call_of_the_system_loses_nothing(budget, path):
    done = subprocess.run(
        [sys.executable, "-c", KILL_EVERYWHERE, str(path)], capture_output=True, text=True, timeout=600, check=True
    )
    results, _, leftovers = done.stdout.strip().rpartition(" ")
    results = json.loads(results)
    assert len(results) > 8
    assert [killed for killed, *_ in results] == [True] * (len(results) - 1) + [False]
    for killed, added, reported, is_there in results:
        assert added in (0, 1)
        assert not reported or (added == 1 and is_there)
        assert killed or reported
    added = [added for _, added, *_ in results]
    assert added == sorted(added)  # before the rename nothing, after it the whole charge
    assert added[0] == 0
    assert leftovers == "[]"
