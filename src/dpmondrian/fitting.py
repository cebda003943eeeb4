"""What `DPM` is without scikit-learn: its parameters, and a fit. The command line needs no more, and starts in half the time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self

import numpy as np
from numpy.typing import NDArray

from dpmondrian.accounts import Spending, open_journal, run_facts
from dpmondrian.common import checks as check
from dpmondrian.common.interrupts import lasting, undisturbed
from dpmondrian.dpm import Settings, check_columns, checked_settings, cluster, make_plan
from dpmondrian.engines import LocalEngine, LocalSource, Resources, open_source, with_thread_context
from dpmondrian.exceptions import NotReleasableWarning, OneClusterWarning, ParameterError, WayOut
from dpmondrian.privacy import Door
from dpmondrian.release import Labeller, PrivacyStatement, Release, Tree, make_statement, released
from dpmondrian.schema import Bounds, Coordinates, GivenBounds, Schema
from dpmondrian.tables import PersonLimit, Reader, Table, frames_of

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget, Checkpoint

_Parameters = ParamSpec("_Parameters")


def named_only(init: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Return a constructor that says what to write instead where a parameter is given by its place, or has another name.

    It quotes no value: whoever takes the constructor for `fit` gives it a table.
    """
    known = [name for name in signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(*places: _Parameters.args, **parameters: _Parameters.kwargs) -> None:
        if len(places) > 1:  # the first one is the estimator itself
            raise ParameterError(
                "The parameters of DPM are keyword-only.",
                "Write DPM(n_clusters=5) for five clusters, DPM(epsilon=1.0, bounds=(0, 100)) for a budget and bounds; pass the rows to fit.",
                got="a positional argument, which is the number of clusters in KMeans but not in DPM",
            )
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ParameterError(
                f"DPM has no parameter called {', '.join(map(repr, unknown))}.",
                f"Its parameters are {', '.join(known)}.",
                hint=check.nearest_names(unknown, known),
            )
        init(*places, **parameters)

    return checked


@dataclass(frozen=True)
class _Run:
    """What a fit was asked for besides its table: checked parameters, and the options of `DPM.fit`."""

    settings: Settings
    seed: int | None
    budget: Budget | str | Path | None
    checkpoint: Checkpoint | str | Path | None
    progress: Callable[[str, int, int], None] | None
    resources: Resources
    data_set: str | None

    @property
    def secure(self) -> bool:
        """Whether the noise cannot be repeated."""
        return self.seed is None


class Fitter:
    """Clusters the rows of a table; see `estimator.DPM` for the parameters and the fitted attributes."""

    @named_only
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-7,
        bounds: Bounds = None,
        n_clusters: int | None = None,
        variant: str = "default",
        rows_per_person: int = 1,
        person_id: str | None = None,
        on_missing: str = "error",
        max_depth: int | None = None,
        windows: int | None = None,
        t: float = 0.3,
        q: float = 1 / 12,
        alpha: float | None = None,
        min_cluster_size: int | None = None,
        budget_shares: dict[str, float] | None = None,
        accountant: str = "auto",
        profiles: bool | list[str] = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_clusters = n_clusters
        self.variant = variant
        self.rows_per_person = rows_per_person
        self.person_id = person_id
        self.on_missing = on_missing
        self.max_depth = max_depth
        self.windows = windows
        self.t = t
        self.q = q
        self.alpha = alpha
        self.min_cluster_size = min_cluster_size
        self.budget_shares = budget_shares
        self.accountant = accountant
        self.profiles = profiles
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise `ParameterError` if a parameter other than the bounds is invalid. Reads and spends nothing."""
        self._settings()

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        budget: Budget | str | Path | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        resources: Resources | None = None,
        data_set: str | None = None,
    ) -> Self:
        """Cluster the rows of `X`. Each fit spends the budget, including repeated fits on the same rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            In memory: NumPy array, or pandas, polars or Arrow table. Larger than memory: path, glob pattern or folder of Parquet,
            CSV or Arrow files, a list of these, or a list of `Source` to specify a delimiter or a query; DuckDB relation; polars
            LazyFrame; Arrow Dataset; function that returns a new Arrow RecordBatchReader on each call. From these, only the columns
            named in `bounds` are read. On a cluster: Spark or Dask DataFrame, Dask Array; dpmondrian must be installed on the workers.
        y : ignored
        budget : Budget or path of its file, optional
            The budget of this data set. It is charged before the first value is released, and refuses charges that would exceed its
            total.
        checkpoint : path, optional
            File that records released values as they are drawn; it contains nothing exact. If the fit is killed, the same call
            resumes it: earlier draws are read from the file, and nothing is spent twice. Never resume two copies of one file. The
            file of a finished run is refused (`FinishedRunError`, which carries the release): delete it to start a new run.
        progress : callable, optional
            Called with the name of the current draw, the number of completed draws and the total number of draws, in the thread that
            computes.
        resources : Resources, optional
            Memory, threads and folder for temporary data, for tables on this machine.
        data_set : str, optional
            Name of the data set, published with the release. If None, the name in the budget file, if any.

        Returns
        -------
        self

        Notes
        -----
        When called from the main thread, the fit runs in another thread. Exceptions from signal handlers, such as KeyboardInterrupt,
        are raised within a second, and nothing is charged or drawn afterwards. Earlier charges remain; a `checkpoint` keeps what
        was drawn for them.
        """
        # Whoever only imports DPM does not wait for words.
        from dpmondrian.show import one_cluster_text, warn_of_promise, warn_of_release

        settings = self._settings()
        seed = check.seed_of(self.random_state)
        check.check_fit_options(budget, progress, resources)
        run = _Run(settings, seed, budget, checkpoint, progress, resources or Resources(), data_set)
        if run.secure:
            warn_of_promise(settings, stacklevel=2)
        else:
            warnings.warn(
                "random_state is set: the noise of this run can be reproduced, so its result protects nobody and must not "
                "be released. Use random_state=None for results that you want to publish.",
                NotReleasableWarning,
                stacklevel=2,
            )
        remarks: list[Warning] = []
        try:
            undisturbed(with_thread_context(X, partial(self._fit, X, run, remarks)))
        finally:
            for remark in remarks:
                warnings.warn(remark, stacklevel=2)
        if run.secure and self.release_.found_one:
            warnings.warn(one_cluster_text(self.release_), OneClusterWarning, stacklevel=2)
        if run.secure:
            warn_of_release(self.release_, stacklevel=2)
        return self

    def _fit(self, X: Any, run: _Run, remarks: list[Warning]) -> None:
        """Cluster the rows and set the fitted attributes; add to the remarks what to warn of."""
        settings, bounds = run.settings, GivenBounds(self.bounds)
        bounds.check_person(self.person_id)
        source = open_source(X, Reader(bounds.written, self.person_id), bounds.names)
        head = source.head
        schema = bounds.schema(head.names, head.whole)
        self._check_categories(schema, settings, bounds)
        settings = settings.for_columns(len(schema.centre_columns))
        coordinates = Coordinates(schema)
        plan = make_plan(settings)
        facts = run_facts(
            settings,
            schema,
            plan,
            self.on_missing,
            run.seed,
            named=head.named,
            charged=run.budget is not None,
            data_set=run.data_set,
        )
        with ExitStack() as stack:
            journal = stack.enter_context(open_journal(run.checkpoint, facts))
            spending = Spending(run.budget, journal, settings, schema, run.progress, run.data_set, run.secure)
            door = Door(plan, settings.rows_per_person, run.seed, spending.before_draw, journal)
            limit = PersonLimit(settings.rows_per_person, door.person_key()) if self.person_id is not None else None
            engine = stack.enter_context(source.engine(coordinates, self.on_missing, limit, run.resources))
            clusters = cluster(engine, door, coordinates.schema, settings)
            statement = make_statement(
                door.plan,
                door.close(),
                schema,
                settings.rows_per_person,
                settings.variant,
                door.secure,
                self.person_id,
                spending.earlier_fits,
            )
            release = released(
                clusters,
                coordinates,
                settings,
                named=head.named,
                on_missing=self.on_missing,
                privacy=statement,
                origin=spending.origin,
            )
            with lasting():  # a model that somebody has gone on to use is not changed under their hands
                self._take(release)
                self._frames = frames_of(X)
                if not head.text_names:  # scikit-learn's convention: feature names are text or not there
                    del self.feature_names_in_
            remarks += spending.finish(release)
            if isinstance(source, LocalSource) and isinstance(source.rows, Table) and isinstance(engine, LocalEngine):
                labels = self._fitted_labels(source.rows, engine, settings.paper or limit is not None)
                with lasting():
                    self._labels = labels

    def _settings(self) -> Settings:
        """Check every parameter; nothing is read or spent before all are right."""
        names = signature(type(self)).parameters.keys() - {"random_state"}
        return checked_settings(**{name: getattr(self, name) for name in names})

    @staticmethod
    def _check_categories(schema: Schema, settings: Settings, bounds: GivenBounds) -> None:
        """Refuse categories and notations where they cannot be used."""
        if schema.written.keys() != bounds.written.keys():
            raise ParameterError(
                parameter="bounds",
                rule="must be a mapping by column name or a Schema if it declares categories, dates or bands",
                got="a list",
                way_out=WayOut.NAME_COLUMNS,
            )
        check_columns(schema, settings)

    def _take(self, release: Release) -> None:
        """Set the fitted attributes from a release, and nothing else."""
        self.__dict__.pop("_labels", None)
        self.release_ = release
        self.cluster_centers_ = release.centres
        self.cluster_sizes_ = release.sizes
        self.n_clusters_ = len(release.centres)
        self.certainty_ = release.certainty
        self.cells_ = release.cells
        self.tree_: Tree = release.tree
        self.privacy_: PrivacyStatement = release.privacy
        self.n_features_in_ = len(release.schema.columns)
        if release.named:
            self.feature_names_in_ = np.array(release.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fitted_labels(self, table: Table, engine: LocalEngine, anew: bool) -> NDArray[np.int32]:
        """Return the cluster of every row of the fitted table; unless `anew`, from the engine's rows, as far as it has all."""
        # Rows are in the clusters that were found already.
        move = self.release_.rule.move() if self.release_.partition is None else None
        nodes = None if anew else engine.nodes_of_rows(move)
        if nodes is not None:
            return nodes.astype(np.int32)
        # Rows that were left out for their number may lack values, and nobody has been told yet.
        labeller = Labeller.of(self.release_, "drop" if self.on_missing == "error" else self.on_missing)
        return LocalSource(table).labels(labeller.labels, Resources(threads=engine.threads.n_threads))
