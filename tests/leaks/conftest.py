"""Marked rows, and a search for their marks in whatever comes out.

Some values, texts and counts of the rows occur nowhere else. The search looks for them in text, in bytes, and in every object
that can be reached from another one. Local variables in tracebacks are out of scope: they hold the rows themselves.
"""

import gc
import io
import re
import struct
import types
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

TEXT = "ZXCANARY"
VALUE = 12345.678901
N_ROWS, GROUP = 31_337, 4242
N_MISSING = 57


@lru_cache
def marked_rows() -> pd.DataFrame:
    """Return two groups of people with a rare value, a rare category, and names that mark them."""
    generator = np.random.default_rng(3)
    first = np.arange(N_ROWS) < GROUP
    frame = pd.DataFrame(
        {
            "spend": np.where(first, 4000, 15_000) + generator.normal(0, 500, N_ROWS),
            "visits": np.where(first, 20, 70) + generator.normal(0, 4, N_ROWS),
            "plan": np.where(first, "basic", "premium"),
            "person": [f"{TEXT}-{number // 2}" for number in range(N_ROWS)],
        }
    )
    frame.loc[7, "spend"] = VALUE
    frame.loc[11, "plan"] = TEXT
    frame.loc[:4, "plan"] = f"{TEXT} rare"
    return frame


@lru_cache
def secrets() -> tuple[frozenset[int], frozenset[float]]:
    """Return exact counts and exact statistics of the marked rows."""
    frame = marked_rows()
    counts = {
        N_ROWS,
        GROUP,
        N_ROWS - GROUP,
        N_ROWS - N_MISSING,
        frame["person"].nunique(),
        *frame["plan"].value_counts(),
    }
    numbers = frame[["spend", "visits"]]
    parts = [numbers, numbers[:GROUP], numbers[GROUP:], numbers[N_MISSING:]]
    values = {VALUE}
    for part in parts:
        for statistic in ("min", "max", "mean", "sum", "median", "std"):
            values |= set(map(float, getattr(part, statistic)()))
    return frozenset(int(count) for count in counts if count > 1000), frozenset(values)


def marks_in_text(text: str) -> set[str]:
    """Return which marks a text tells: a mark, an exact count, or the digits of an exact value.

    A size with a standard error of two digits or more is rounded, so it may be exact by chance; the release holds it with all digits.
    """
    counts, values = secrets()
    found = {TEXT} if TEXT in text else set()
    for count in counts:
        if re.search(rf"(?<![\d.,-])(?:{count}|{count:,})(?!\d|[.,]\d*[1-9]| ± [\d,]{{2}})", text):
            found.add(str(count))
    return found | {digits for digits in (_digits(value) for value in values) if digits in text}


def _digits(value: float) -> str:
    """Return the first ten digits of a value, not rounded; by chance noisy values share fewer. Of the rare value eight."""
    return f"{abs(value):.12f}"[: 9 if value == VALUE else 11]


def marks_in_bytes(content: bytes) -> set[str]:
    """Return which marks bytes hold, as text or as numbers in either order of bytes."""
    counts, values = secrets()
    found = {TEXT} if TEXT.encode() in content else set()
    patterns = {struct.pack(f"{order}d", number): number for order in "<>" for number in (*counts, *values)}
    patterns |= {struct.pack(f"{order}q", count): count for order in "<>" for count in counts}
    patterns |= {struct.pack(f"{order}f", VALUE): VALUE for order in "<>"}
    found |= {str(number) for pattern, number in patterns.items() if pattern in content}
    return found | {_digits(value) for value in values if _digits(value).encode() in content}


def reachable(thing):
    """Yield everything that can be reached from an object: its attributes, their items, closures, and so on."""
    seen, waiting = set(), [thing]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType | types.FrameType):
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, types.FunctionType):  # its globals are the module's
            waiting += [cell.cell_contents for cell in one.__closure__ or ()] + list(one.__defaults__ or ())
        elif isinstance(one, np.ndarray):
            waiting += [one.base, *(one.ravel().tolist() if one.dtype == object else ())]
        else:
            waiting += gc.get_referents(one)


def numbers_of(one) -> np.ndarray:
    """Return the numbers that one object tells by itself, also by its length."""
    if isinstance(one, np.ndarray) and one.dtype.kind in "biuf":
        return np.concatenate([one.astype(np.float64).ravel(), one.shape])
    if isinstance(one, int | float | np.number) and not isinstance(one, bool):
        return np.array([float(one)])
    if isinstance(one, list | tuple | dict | set | frozenset):
        return np.array([float(len(one))])
    if isinstance(one, np.ndarray | pd.DataFrame | pd.Series | pd.Index):
        return np.array(one.shape, dtype=np.float64)
    return np.empty(0)


def marks_in_object(thing) -> set[str]:
    """Return which marks an object holds, however deep inside."""
    counts, values = secrets()
    exact = np.array([*map(float, counts), *values])
    found = set()
    for one in reachable(thing):
        if isinstance(one, str):
            found |= marks_in_text(one)
        elif isinstance(one, bytes | bytearray | memoryview):
            found |= marks_in_bytes(bytes(one))
        numbers = numbers_of(one)
        equal = np.abs(numbers[:, None] - exact) <= 1e-9 * np.abs(exact)
        found |= {str(number) for number in exact[equal.any(axis=0)]}
    return found


def marks_in_error(error: BaseException) -> set[str]:
    """Return which marks an error tells: its text, arguments and notes, and those of what led to it, as far as that is shown."""
    found = set()
    while error is not None:
        found |= marks_in_text("\n".join([str(error), repr(error), *getattr(error, "__notes__", ())]))
        found |= marks_in_object(error.args)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


@pytest.fixture(scope="session")
def rows() -> pd.DataFrame:
    """Return the marked rows."""
    return marked_rows()


@pytest.fixture(scope="session")
def marks():
    """Return the searches, by what they search."""
    return types.SimpleNamespace(
        text=marks_in_text, bytes=marks_in_bytes, object=marks_in_object, error=marks_in_error, value=VALUE, word=TEXT
    )


def is_of_the_process(name: str) -> bool:
    """Return whether an attribute of a log record is a number of the process or of the clock, which may be a mark by chance."""
    return name in ("process", "thread", "created", "msecs", "relativeCreated")


@pytest.fixture
def told(caplog, capfd):
    """Return a function that gives all that was logged and printed since, at every level, by anybody."""
    caplog.set_level(0)

    def so_far() -> str:
        printed = capfd.readouterr()
        records = [
            f"{record.getMessage()} { {name: value for name, value in vars(record).items() if not is_of_the_process(name)} }"
            for record in caplog.records
        ]
        caplog.clear()
        return "\n".join([printed.out, printed.err, *records])

    return so_far


@pytest.fixture
def joblib_bytes():
    """Return a function that gives the bytes that joblib writes."""
    joblib = pytest.importorskip("joblib")

    def dumped(thing) -> bytes:
        target = io.BytesIO()
        joblib.dump(thing, target)
        return target.getvalue()

    return dumped
