"""Errors and warnings, one hierarchy.

::

    DPMondrianError
    ├── ParameterError (also ValueError)   a parameter breaks a rule
    │   └── BoundsError                    the public facts about the columns are missing or wrong
    ├── DataError (also ValueError)        the table cannot be used as it is
    ├── ReleaseFileError (also ValueError) a saved release cannot be read
    ├── OutputError (also OSError)         a result cannot be written
    ├── RandomnessError (also OSError)     the secure generator of this system is missing or broken
    ├── PlotsMissingError                  matplotlib is not installed
    ├── BudgetError (also RuntimeError)    a draw or a plan would cost more than was allowed
    └── CheckpointError (also RuntimeError) a run cannot be continued from its checkpoint, or cannot be kept there
        └── FinishedRunError               the run in the checkpoint is finished; the error has its release

    NotReleasableWarning (UserWarning)     the noise of this run can be reproduced: research only
    WeakPromiseWarning (UserWarning)       epsilon or delta is so large that the guarantee is weak
    FewRowsWarning (UserWarning)           too few rows for this budget: expect noise
    OneClusterWarning (UserWarning)        clusters were looked for and none is apart from the rest
    MisfitWarning (UserWarning)            bounds or categories do not fit the rows, judging by what was released

An error is made from fields: what is wrong (of a parameter: its name and rule), the value that was given, and a way out. `str`
puts them together as a sentence for Python; another front end, such as the command line, has its own `Wording`.

No field carries a value computed from the rows: only parameters, column names, types and shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from enum import Enum
from numbers import Number
from pathlib import PurePath
from typing import Any, Self, TypeVar

from dpmondrian.common.printable import printable

LONGEST_VALUE = 200  # longer texts of a value are cut off: it is quoted so that it can be recognised, not to be read


class WayOut(Enum):
    """Ways out that name parameters or Python objects, so that each front end has its own words; these are Python's."""

    LET_DPM_CHOOSE = "Use None to let DPM choose."
    RELEASE_CELLS = "Fit with variant='default'."
    GIVE_BOUNDS = (
        "Pass bounds that are known without the data, for example bounds={'age': (0, 120), 'children': (0, 12, 'int')}, or "
        "bounds=(0, 1) for all columns."
    )
    HANDLE_MISSING = (
        "Use on_missing='drop' to drop these rows, or on_missing='middle' to replace missing values with the middle of the "
        "column's bounds (no for yes/no, other for categories). Or leave out columns with many of them."
    )
    DROP_UNKNOWN_PEOPLE = "Use on_missing='drop' or on_missing='middle' to drop rows whose person is unknown."
    NAME_COLUMNS = "Pass the bounds as a mapping, for example bounds={'age': (0, 120), 'plan': ['basic', 'premium']}."
    NAME_FORMAT = "Rename or convert it, or name its format: dpmondrian.Source(path, kind='csv')."
    NUMBER_COLUMNS = "For an array, which has no column names, pass a list of pairs."
    OTHER_FOLDER = "Use another folder (TMPDIR, or Resources(folder=...)), or increase the memory limit."
    MORE_SPACE = "Use a folder with more space (TMPDIR, or Resources(folder=...)), or increase the memory limit."
    QUERY_DATABASE = "Pass a DuckDB relation, such as duckdb.connect('shop.duckdb', read_only=True).sql('FROM people')."
    SELECT_ROWS = "For example query='SELECT age, income FROM people'."
    COPY_FILES = "Pass pyarrow.dataset.dataset(address), or a DuckDB relation."
    LESS_NOISE = "Increase 'epsilon', or decrease 'rows_per_person'."
    FINER_NOISE = "Use accountant='zcdp', or decrease 'epsilon'."
    ALLOW_CUTS = "Add a numeric column, or allow cuts between categories: Category(name, categories, cut=True), or 'cut = true' in a schema file, or set 'n_clusters'."
    TAKE_RELEASE = (
        "To start a new run, delete the file or use another one. If the run was stopped before its release was saved, catch "
        "FinishedRunError: its 'release' attribute is the release, which is paid for."
    )


class Wording:
    """How parameters and ways out are called where an error is read: this one for Python."""

    def parameter(self, name: str, of: str) -> str:
        """Return what a parameter is called after "The"."""
        return f"{name!r} parameter" + (f" of {of}" if of else "")

    def fact(self, name: str, column: str) -> str:
        """Return what a fact about a column is called after "The"."""
        return f"{name!r} of column {column!r}"

    def setting(self, name: str, value: Any) -> str:
        """Return a parameter with the value that makes something an error."""
        return f"{name}={value!r}"

    def way_out(self, key: WayOut) -> str:
        """Return a way out in full."""
        return str(key.value)


PYTHON = Wording()
_Error = TypeVar("_Error", bound="DPMondrianError")
_NOTHING: Any = object()


class DPMondrianError(Exception):
    """Base of every error raised on purpose by this package. Its text is one line, safe to print whatever names it quotes.

    Parameters
    ----------
    problem : str
        What is wrong, in sentences. Not needed where `parameter` and `rule` say it.
    way_out : str or WayOut
        What to do about it.
    parameter, of : str
        Name of the parameter that breaks its rule, and whose it is, such as "DPM".
    column : str
        The column whose fact (`parameter`) breaks its rule.
    rule : str
        What the parameter must be, as the rest of a sentence: "must be a positive number".
    value : object
        What was given instead. Only its text is kept, cut off; of a table or array only its type.
    got : str
        The same in words, where the value itself says less.
    hint : str
        A near name or what there is to choose from, in sentences.
    because : mapping of str to object
        Settings without which there would be no error.
    where : str
        The file that holds the wrong value; what it holds are keys then, not parameters.

    Examples
    --------
    >>> from dpmondrian import DPM, DPMondrianError
    >>> try:
    ...     DPM(epsilon=-1, bounds=(0, 1)).check_parameters()
    ... except DPMondrianError as error:
    ...     error.parameter, error.value, error.way_out
    ('epsilon', '-1', 'Common values are between 0.1 and 3.')
    """

    def __init__(
        self,
        problem: str = "",
        way_out: str | WayOut = "",
        *,
        parameter: str = "",
        of: str = "",
        column: str | None = None,
        rule: str = "",
        value: Any = _NOTHING,
        got: str = "",
        hint: str = "",
        because: Mapping[str, Any] | None = None,
        where: str = "",
    ) -> None:
        self.problem = problem
        self.way_out = way_out
        self.parameter = parameter
        self.of = of
        self.column = column
        self.rule = rule
        self.value = got if value is _NOTHING else _text_of(value)
        self.hint = hint.strip()
        self.because = dict(because or {})
        self.where = where
        super().__init__(self.sentence())

    @classmethod
    def broken(cls, parameter: str, rule: str, value: Any, way_out: str | WayOut = "", **fields: Any) -> Self:
        """Return the error for a parameter that breaks its rule."""
        return cls(parameter=parameter, rule=rule, value=value, way_out=way_out, **fields)

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, words: Wording = PYTHON) -> str:
        """Return the whole message on one line, in the words of a front end."""
        problem = self._subject_and_rule(words) if self.parameter else self.problem.removesuffix(".")
        settings = " and ".join(words.setting(name, value) for name, value in self.because.items())
        parts = [
            f"In {self.where}:" if self.where else "",
            f"{problem}{f', and {settings}' if settings else ''}." if problem else "",
            f"Got {self.value}{' instead' if self.rule.startswith('must') else ''}." if self.value else "",
            self.hint,
            words.way_out(self.way_out) if isinstance(self.way_out, WayOut) else self.way_out,
        ]
        return printable(" ".join(filter(None, parts)))

    def _subject_and_rule(self, words: Wording) -> str:
        words = PYTHON if self.where else words  # what a file holds is called the same everywhere
        if self.column is not None:
            return f"The {words.fact(self.parameter, self.column)} {self.rule}"
        name = f"{self.parameter!r} key" if self.where else words.parameter(self.parameter, self.of)
        return f"The {name} {self.rule}"

    def within(self: _Error, where: str) -> _Error:
        """Return the same error about a value that a file holds."""
        error = copy(self)
        error.where = where
        error.args = (error.sentence(),)
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_error, (type(self), self.args, self.__dict__)


def _restored_error(kind: type[_Error], args: tuple[Any, ...], fields: dict[str, Any]) -> _Error:
    """Return an error that was pickled or copied: from its fields, whatever its constructor asks for."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


def _text_of(value: Any) -> str:
    """Return what may be said of a wrong value: plain values and a few of them, but of a table in place of a parameter nothing.

    Rows come as arrays, relations, lists of lists or mappings of lists, so only what cannot be rows is quoted.
    """
    parts = (
        [*value.values()] if isinstance(value, dict) else list(value) if isinstance(value, list | tuple) else [value]
    )
    if len(parts) > _MOST_QUOTED or not all(_is_plain(part) for part in parts):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


_MOST_QUOTED = 6  # longer lists may be a column of the table


def _is_plain(value: Any) -> bool:
    """Return whether something is one number, text, path or the like, and not a collection."""
    return (
        isinstance(value, str | Number | PurePath | type | None)
        or callable(value)
        or getattr(value, "shape", None) == ()
    )


class ParameterError(DPMondrianError, ValueError):
    """A parameter is invalid. The message names the parameter, the rule, the value and a solution.

    Examples
    --------
    >>> from dpmondrian import DPM
    >>> DPM(epsilon=-1, bounds=(0, 1)).check_parameters()
    Traceback (most recent call last):
    ...
    dpmondrian.exceptions.ParameterError: The 'epsilon' parameter must be a finite number from 1e-06 to 1e+06. Got -1 instead. Common values are between 0.1 and 3.
    """


class BoundsError(ParameterError):
    """Bounds are missing, reversed, equal, not finite, or do not match the columns.

    Examples
    --------
    >>> from dpmondrian import Column
    >>> Column("age", 120, 0)
    Traceback (most recent call last):
    ...
    dpmondrian.exceptions.BoundsError: The 'bounds' of column 'age' must satisfy lower < upper. Got (120, 0) instead. Swap them, or remove the column if it cannot vary.
    """


class DataError(DPMondrianError, ValueError):
    """The table has a shape, type or missing value that cannot be used.

    Examples
    --------
    >>> from dpmondrian import DPM, DataError
    >>> try:
    ...     DPM(bounds=(0, 1)).fit([[0.5], [float("nan")]])
    ... except DataError as error:
    ...     print(error.because)
    {'on_missing': 'error'}
    """


class ReleaseFileError(DPMondrianError, ValueError):
    """A file is not a saved release, is damaged, or has a newer format.

    Examples
    --------
    >>> from dpmondrian import Release
    >>> Release.from_json("{}")
    Traceback (most recent call last):
    ...
    dpmondrian.exceptions.ReleaseFileError: This is not a saved release: the field 'format' must be 'dpmondrian release'.
    """


class OutputError(DPMondrianError, OSError):
    """A result cannot be written to its destination. Existing files are unchanged.

    Examples
    --------
    >>> from dpmondrian import Column, OutputError, Schema, TableSchema, write_schema
    >>> try:
    ...     write_schema(TableSchema(Schema((Column("age", 0, 120),))), "no/such/folder/schema.toml")
    ... except OutputError as error:
    ...     print(error.way_out)
    Create it first, or choose another one.
    """


class RandomnessError(DPMondrianError, OSError):
    """The secure random generator of this system is missing or broken. Nothing was drawn with it.

    Examples
    --------
    It is an `OSError` too, so code that handles failures of the system handles it.

    >>> from dpmondrian import RandomnessError
    >>> issubclass(RandomnessError, OSError)
    True
    """


class PlotsMissingError(DPMondrianError):
    """Plots are not available because matplotlib is not installed.

    Examples
    --------
    Where plots are optional:

    >>> from dpmondrian import Column, Schema, forecast
    >>> try:
    ...     axes = forecast(20_000, Schema((Column("age", 0, 120),))).plot()
    ... except PlotsMissingError:
    ...     axes = None
    """


class BudgetError(DPMondrianError, RuntimeError):
    """A plan or a draw would cost more than the budget allows. Nothing was released.

    Examples
    --------
    >>> import tempfile
    >>> from dpmondrian import DPM, Budget, BudgetError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budget = Budget.create(f"{folder}/budget.json", epsilon=1.0, delta=1e-6, data_set="patients")
    ...     try:
    ...         DPM(epsilon=2.0, bounds=(0, 1)).fit([[0.5]], budget=budget)
    ...     except BudgetError:
    ...         print("Nothing was charged:", budget.read().spent_epsilon)
    Nothing was charged: 0.0
    """


class CheckpointError(DPMondrianError, RuntimeError):
    """A checkpoint is damaged, belongs to another run, is in use, or cannot be written. Everything released is kept in it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpmondrian import DPM, CheckpointError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Path(folder, "run.ckpt")
    ...     _ = checkpoint.write_text("something else")
    ...     try:
    ...         DPM(bounds=(0, 1)).fit([[0.5]], checkpoint=checkpoint)
    ...     except CheckpointError as error:
    ...         print("damaged" in str(error))
    True
    """


class FinishedRunError(CheckpointError):
    """The run in a checkpoint is finished, and its release may be of different rows. Nothing was drawn or spent.

    Attributes
    ----------
    release : Release
        The release of the run, already paid for, in case the process was killed before it could save it.

    Examples
    --------
    >>> import tempfile
    >>> from dpmondrian import DPM, FinishedRunError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = DPM(bounds=(0, 1)).fit([[0.5]], checkpoint=f"{folder}/run.ckpt")
    ...     try:
    ...         DPM(bounds=(0, 1)).fit([[0.5]], checkpoint=f"{folder}/run.ckpt")
    ...     except FinishedRunError as finished:
    ...         finished.release.digest() == first.release_.digest()
    True
    """

    def __init__(self, problem: str = "", way_out: str | WayOut = "", *, release: Any, **fields: Any) -> None:
        self.release = release
        super().__init__(problem, way_out, **fields)


class NotReleasableWarning(UserWarning):
    """The run used a seed, so its noise can be reproduced and protects nobody.

    Examples
    --------
    Make sure that nothing of the kind is ever published:

    >>> import warnings
    >>> from dpmondrian import DPM, NotReleasableWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NotReleasableWarning)
    ...     DPM(bounds=(0, 1), random_state=0).fit([[0.5]])
    Traceback (most recent call last):
    ...
    dpmondrian.exceptions.NotReleasableWarning: random_state is set: the noise of this run can be reproduced, so its result protects nobody and must not be released. Use random_state=None for results that you want to publish.
    """


class WeakPromiseWarning(UserWarning):
    """Epsilon or delta is so large that the guarantee for the people in the table is weak.

    Examples
    --------
    >>> import warnings
    >>> from dpmondrian import DPM, WeakPromiseWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", WeakPromiseWarning)
    ...     DPM(epsilon=20, bounds=(0, 1)).fit([[0.5]])
    Traceback (most recent call last):
    ...
    dpmondrian.exceptions.WeakPromiseWarning: epsilon = 20 gives almost no protection: probabilities may differ by a factor of exp(20). Common values are between 0.1 and 3.
    """


class FewRowsWarning(UserWarning):
    """Judging by its released count, the table has too few rows for clusters to be found with this budget.

    Examples
    --------
    >>> import warnings
    >>> from dpmondrian import DPM, FewRowsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = DPM(bounds=(0, 1)).fit([[0.5]] * 100)
    >>> any(warning.category is FewRowsWarning for warning in caught)
    True
    """


class MisfitWarning(UserWarning):
    """Judging by released centres and shares, bounds clip nearly all values of a column, or its categories match none.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from dpmondrian import DPM, MisfitWarning
    >>> metres = np.random.default_rng(0).normal(1.7, 0.1, (20_000, 1))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = DPM(epsilon=5.0, bounds=(100, 250)).fit(metres)  # centimetres
    >>> [warning.category.__name__ for warning in caught if warning.category is MisfitWarning]
    ['MisfitWarning']
    """


class OneClusterWarning(UserWarning):
    """No separate clusters were found, so there is only one cluster. The release still holds segments for every k.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from dpmondrian import DPM
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = DPM(bounds=(0, 1)).fit(np.linspace(0, 1, 5000)[:, None])
    >>> [warning.category.__name__ for warning in caught], model.n_clusters_
    (['OneClusterWarning'], 1)
    >>> model.clusters(2).sizes.shape
    (2,)
    """
