"""The scikit-learn estimator: it checks, calls the algorithm and sets attributes; no arithmetic."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpmondrian.accounts import Spending, held_journal, run_facts
from dpmondrian.common import checks as check
from dpmondrian.common.interrupts import lasting, undisturbed
from dpmondrian.dpm import Settings, check_columns, checked_settings, cluster, make_plan
from dpmondrian.engines import MISSING_RULES, EngineSource, LocalEngine, LocalSource, Resources, carried, open_source
from dpmondrian.exceptions import DataError, NotReleasableWarning, ParameterError, WayOut
from dpmondrian.privacy import OBSERVER, Door
from dpmondrian.release import (
    Labeller,
    PrivacyStatement,
    Release,
    Tree,
    counted_in,
    make_statement,
    released_centres,
    released_tree,
)
from dpmondrian.schema import Bounds, Coordinates, GivenBounds, Schema
from dpmondrian.show import warn_of_few_rows, warn_of_promise
from dpmondrian.tables import PersonLimit, Reader, Table

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget, Checkpoint

__all__ = ["DPM"]

_Parameters = ParamSpec("_Parameters")


def named_only(init: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """Return a constructor that says what to write instead where a parameter is given by its place.

    It quotes nothing: whoever takes the constructor for `fit` gives it a table.
    """

    @wraps(init)
    def checked(*places: _Parameters.args, **parameters: _Parameters.kwargs) -> None:
        if len(places) > 1:  # the first one is the estimator itself
            raise ParameterError(
                "The parameters of DPM must be named.",
                "Write DPM(n_clusters=5) for five clusters, DPM(epsilon=1.0, bounds=(0, 100)) for a budget and bounds; rows are given "
                "to fit.",
                got="one by its position, which in KMeans is the number of clusters, and in DPM is not",
            )
        init(*places, **parameters)

    return checked


class DPM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of sensitive rows that may be published: differentially private, without choosing k.

    DPM cuts the data along columns where it is sparse between two humps, chooses every cut privately, joins leaves
    between which rows lie, and releases noisy centres and sizes. ``docs/how-it-works.md`` shows it in pictures.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget: the smaller, the more private and the noisier.
    delta : float, default=1e-7
        Probability with which the bound may fail; well below 1 / (number of people), and at least 1e-300. 0 gives pure epsilon.
    bounds : pair, list of pairs, mapping from column name to pair, or Schema
        Range of every column, known *without looking at the data*. Values beyond are clipped. A third item
        ``"int"`` marks whole numbers, ``"float"`` the contrary; without it the column's type decides. ``"log"`` puts
        a positive column on a log scale, for values that differ by ratios, such as incomes. A list of texts in place of a
        pair declares categories, ``{"plan": ["basic", "premium"]}``; see `Category`.
    n_clusters : int, default=None
        None lets the data decide: valleys and bridges. With k, the tree cuts wherever it is emptiest, and its many leaves are
        merged to k clusters, which private Lloyd steps improve (the paper's variant only merges: at most k).
    variant : {"default", "paper"}, default="default"
        "paper" uses the paper's scores, shares, composition and averages, corrected where its guarantee failed.
    rows_per_person : int, default=1
        Most rows that one person can have in the table. Every sensitivity is multiplied by it.
    person_id : str, default=None
        Column that tells to whom a row belongs. At most `rows_per_person` rows of each person are kept, chosen at random,
        before anything else. Ids are taken as they are written ("7" and "007" are two people) and must be of one type. None: nobody
        has more rows than that, and you vouch for it.
    on_missing : {"error", "drop", "middle"}, default="error"
        What happens to missing or infinite values: an error, the row is left out, or the middle of the bounds.
    max_depth : int, default=None
        Most levels of cuts, 0 to 12. None: 12, and 7 with `n_clusters` and in the paper's variant.
    windows : int, default=128
        Narrowest intervals per column in which rows are counted (default variant), 2 to 2**14. Valleys are also looked for
        in intervals of 2, 4, ... times their width, up to a sixteenth of the range.
    t, q : float, default=0.3, 1/12
        Shape of centreness, ``t >= 2q``.
    alpha : float, default=None
        Weight of emptiness, used with `n_clusters` and in the paper's variant. None: 5 as in the paper, but 3 where leaves are
        merged to k clusters: more leaves to merge. The 3 helped on data without valleys (UCI Letters) and made no clear
        difference elsewhere.
    min_cluster_size : int, default=None
        Least noisy number of rows on each side of a cut. None: 1/192 of all rows (1/128 with `n_clusters` and in the paper's
        variant), and above the noise. A number is taken as it is, also below the noise, but without `n_clusters` never less
        than 1/1024 of all rows.
    budget_shares : mapping, default=None
        Shares of the budget for "splits", "counts", "bridges", "centres". With `n_clusters` there are no bridges; the
        paper's variant has an "interval" instead.
    directions : int, default=0
        Number of public directions, 0 to 64, along which cuts may be made besides the columns: weighted sums of the scaled
        columns (but not of whole numbers with fewer than 128 values), for clusters that no single column separates. They
        cost no budget, but time like a column each. Rules in `tree_` may name them (``release_.directions`` holds the
        weights); centres and distances stay in the columns, so clusters much longer than they are apart are cut well but
        labelled badly. Not in the paper's variant.
    accountant : {"zcdp", "pld"}, default="zcdp"
        How the costs of all draws become one epsilon. "pld" composes their privacy losses, which allows about 2.5 % less
        noise for the same promise, and draws noise in smaller steps; needs ``delta > 0``, not in the paper's variant.
    random_state : int, RandomState, Generator or None, default=None
        None draws secure noise. Anything else makes a reproducible research run that must not be released.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features_in_)
        Released centres, largest cluster first. In place of a column of categories there is one column per category, with
        its share in the cluster (``release_.schema.centre_names``).
    cluster_sizes_ : ndarray of shape (n_clusters_,)
        Released sizes, with noise, so not whole: of the cells nearest to each centre (in the paper's variant of the leaves).
    n_clusters_ : int
    tree_ : Tree
        Released cuts with their strengths; prints as rules. ``tree_.cut(k)`` gives other clusters of the same leaves.
    privacy_ : PrivacyStatement
        What was promised and what was drawn for it; prints in words, ``to_json()`` for machines.
    release_ : Release
        All of the above in one object that can be saved and published.
    labels_ : ndarray of shape (n_samples,)
        Sensitive: cluster of every row of `X`, -1 for rows left out for missing values. Not kept in pickles, copies or files.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if the table had column names.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.vstack([np.full((5000, 2), 20.0), np.full((5000, 2), 80.0)])
    >>> model = DPM(epsilon=1.0, delta=1e-7, bounds=(0, 100)).fit(rows)
    >>> model.n_clusters_
    2
    """

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
        windows: int = 128,
        t: float = 0.3,
        q: float = 1 / 12,
        alpha: float | None = None,
        min_cluster_size: int | None = None,
        budget_shares: dict[str, float] | None = None,
        directions: int = 0,
        accountant: str = "zcdp",
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
        self.directions = directions
        self.accountant = accountant
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise `ParameterError` if a parameter other than the bounds is wrong. Nothing is read or spent."""
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
    ) -> DPM:
        """Cluster the rows of `X`. Spends the budget once; each further fit on the same rows spends it again.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            In memory: NumPy array, or pandas, polars or Arrow table. Of any size: path, glob or folder of Parquet, CSV or
            Arrow files, or a list of these, or of `dpmondrian.tables.Source` where a delimiter or a query must be
            said; DuckDB relation; polars LazyFrame; Arrow Dataset; function that returns a new Arrow RecordBatchReader at each
            call. Of all these only the columns that `bounds` names are read. On a cluster: Spark or Dask DataFrame, Dask Array;
            dpmondrian must be installed on the workers.
        y : ignored
        budget : Budget or path of its file, optional
            The ledger of this data set. It is charged before the first value is released, and refuses what would go over its
            total.
        checkpoint : path, optional
            File for what is released, as it is drawn; nothing exact is in it. If the fit is killed, the same call continues it:
            what was drawn is taken from the file, and nothing is spent twice. Never continue two copies of one file. The file of a
            finished run is refused (`FinishedRunError`, which has the release): delete it for a new run.
        progress : callable, optional
            Called with the name of what is drawn, how many draws of the plan are behind, and how many there are in all; in the
            thread that computes.
        resources : Resources, optional
            Memory, threads and folder for temporary data, for tables on this machine.
        data_set : str, optional
            Name of the data set, which is published with the release. None: the one in the budget file, if there is one.

        Returns
        -------
        self : DPM

        Notes
        -----
        In the main thread of a process, the fit is computed in another one. What the handler of a signal raises meanwhile, such as
        KeyboardInterrupt, is raised within a second, and nothing is charged or drawn afterwards. What was charged stays charged;
        a `checkpoint` keeps what was drawn for it.
        """
        settings = self._settings()
        seed = check.seed_of(self.random_state)
        check.check_fit_options(budget, progress, resources)
        secure = seed is None and OBSERVER.get() is None
        if secure:
            warn_of_promise(settings, stacklevel=2)
        else:
            warnings.warn(
                "random_state is set: the noise of this run can be reproduced, so its result protects nobody and must not "
                "be released. Leave random_state=None for results to publish.",
                NotReleasableWarning,
                stacklevel=2,
            )
        remarks: list[Warning] = []
        try:
            work = partial(
                self._fit, X, settings, seed, secure, budget, checkpoint, progress, resources, data_set, remarks
            )
            undisturbed(carried(X, work))
        finally:
            for remark in remarks:
                warnings.warn(remark, stacklevel=2)
        if secure:
            warn_of_few_rows(self.release_, settings, stacklevel=2)
        return self

    def _fit(
        self,
        X: Any,
        settings: Settings,
        seed: int | None,
        secure: bool,
        budget: Budget | str | Path | None,
        checkpoint: Checkpoint | str | Path | None,
        progress: Callable[[str, int, int], None] | None,
        resources: Resources | None,
        data_set: str | None,
        remarks: list[Warning],
    ) -> None:
        """Cluster the rows and set the fitted attributes; add to the remarks what to warn of."""
        bounds = GivenBounds(self.bounds)
        source = open_source(X, Reader(bounds.categories, self.person_id), bounds.names)
        head = source.head
        schema = bounds.schema(head.names, head.whole)
        self._check_categories(schema, settings, head)
        coordinates = Coordinates(schema, settings.directions)
        plan = make_plan(settings)
        facts = run_facts(
            settings,
            schema,
            plan,
            self.on_missing,
            seed,
            named=head.named,
            charged=budget is not None,
            data_set=data_set,
        )
        with ExitStack() as stack:
            journal = stack.enter_context(held_journal(checkpoint, facts, len(plan.draws)))
            spending = Spending(budget, journal, settings, schema, progress, data_set, secure)
            door = Door(plan, settings.rows_per_person, seed, spending.before_draw, journal)
            limit = PersonLimit(settings.rows_per_person, door.person_key()) if self.person_id is not None else None
            resources = resources or Resources()
            engine = stack.enter_context(source.engine(coordinates, self.on_missing, limit, resources))
            clusters = cluster(engine, door, coordinates.schema, settings)
            centres, centre_errors = released_centres(clusters, coordinates)
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
            release = Release(
                schema=schema,
                named=head.named,
                centres=centres,
                centre_errors=centre_errors,
                sizes=clusters.sizes,
                size_errors=clusters.size_errors,
                tree=released_tree(clusters, coordinates, counted_in(settings.rows_per_person, settings.person_id)),
                privacy=statement,
                parameters={"on_missing": self.on_missing} | settings.beyond_privacy(),
                origin=spending.origin,
            )
            with lasting():  # a model that somebody has gone on to use is not changed under their hands
                self._take(release)
                if not head.text_names:  # scikit-learn's convention: feature names are text or not there
                    del self.feature_names_in_
            remarks += spending.finish(release)
            if isinstance(source, LocalSource) and isinstance(source.rows, Table) and isinstance(engine, LocalEngine):
                labels = self._fitted_labels(source.rows, engine, clusters.cluster_of_node, limit)
                with lasting():
                    self._labels = labels

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Sensitive: the cluster of every row of the table, -1 for rows with missing values that were left out."""
        labels: NDArray[np.int32] | None = self.__dict__.get("_labels")
        if labels is None:
            raise AttributeError(
                "labels_ is there only after a fit on a table in memory, and not in copies, pickles or loaded releases. Call "
                "predict with the table."
            )
        return labels

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Cluster the rows of `X` and return the nearest cluster of every row; see `fit` and `predict`."""
        self.fit(X, y, **options)
        return self._labels if "_labels" in self.__dict__ else self.predict(X)

    def predict(self, X: Any) -> Any:
        """Return the nearest cluster of every row: sensitive, stays with the holder of the rows.

        Nearest is by distance to the centre, as in KMeans; at the edges this may be another cluster than the one whose
        rule in `tree_` the row fulfils. Rows are clipped to the bounds first. Columns of a named table may come in any order. With
        ``on_missing="drop"`` a row with missing values gets -1.

        Parameters
        ----------
        X : table
            As in `fit`.

        Returns
        -------
        labels : int32 array of shape (n_samples,)
            For a Spark DataFrame a column to be used with it, ``X.withColumn("cluster", model.predict(X))``; for a Dask
            DataFrame or Array a Dask Series or Array: nothing is computed yet.
        """
        return undisturbed(carried(X, lambda: self._source(X).labels(self._labeller.labels, Resources())))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of every row to every centre: sensitive, stays with the holder of the rows.

        Differences are brought to a common scale by the columns' ranges (`Schema.weights`); with equal bounds
        for all columns this is the Euclidean distance. On a log scale they are differences of logarithms. Rows are clipped
        to the bounds first. For tables on this machine.
        """
        return undisturbed(partial(self._distances, X))

    def _distances(self, X: Any) -> NDArray[np.float64]:
        source = self._source(X)
        if not isinstance(source, LocalSource):
            raise DataError(
                "The distances of rows on a cluster are not computed.",
                "Call predict, or transform with a part of the table in memory.",
            )
        return source.mapped(self._labeller.distances, np.empty((0, self.n_clusters_)), Resources())

    def plot(self, x: str | None = None, y: str | None = None, ax: Any = None) -> Any:
        """Draw clusters and cuts in two columns with matplotlib, and return the axes. Only released values are drawn.

        Parameters
        ----------
        x, y : str, optional
            Columns (``release_.schema.centre_names``); None for the ones that are cut first.
        ax : matplotlib Axes, optional
            Where to draw; None for a new figure.
        """
        check_is_fitted(self)
        from dpmondrian.show.plots import plot_clusters

        return plot_clusters(self.release_, x, y, ax)

    def save(self, path: str | Path) -> None:
        """Write the release (centres, sizes, tree, privacy statement) to a JSON file, whole or not at all; see `Release.save`."""
        check_is_fitted(self)
        self.release_.save(path)

    @classmethod
    def load(cls, path: str | Path) -> DPM:
        """Return a fitted estimator from a saved release: it predicts, and holds no rows.

        Raises `ReleaseFileError` for a file that is no release, or contradicts itself.
        """
        release = Release.load(path)
        privacy = release.privacy
        model = cls(
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            bounds=release.schema,
            variant=privacy.variant,
            rows_per_person=privacy.rows_per_person,
            accountant=privacy.accountant,
            **release.parameters,
        )
        model._take(release)
        return model

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def _settings(self) -> Settings:
        """Check every parameter; nothing is read or spent before all are right."""
        parameters = self.get_params(deep=False)
        del parameters["random_state"]
        return checked_settings(**parameters)

    @staticmethod
    def _check_categories(schema: Schema, settings: Settings, table: Table) -> None:
        """Refuse categories where they cannot be used."""
        if schema.categories.keys() != table.categories.keys():
            raise ParameterError(
                parameter="bounds",
                rule="must be a mapping by column name, or a Schema, where it declares categories",
                got="a list",
                way_out=WayOut.NAME_COLUMNS,
            )
        check_columns(schema, settings)

    def _missing_rule(self) -> int:
        return MISSING_RULES[check.check_choice("on_missing", self.on_missing, tuple(MISSING_RULES))]

    def _take(self, release: Release) -> None:
        """Set the fitted attributes from a release, and nothing else."""
        self.__dict__.pop("_labels", None)
        self.release_ = release
        self.cluster_centers_ = release.centres
        self.cluster_sizes_ = release.sizes
        self.n_clusters_ = len(release.centres)
        self.tree_: Tree = release.tree
        self.privacy_: PrivacyStatement = release.privacy
        self.n_features_in_ = len(release.schema.columns)
        if release.named:
            self.feature_names_in_ = np.array(release.schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _source(self, X: Any) -> EngineSource:
        """Return a table to predict on, with its columns in the order of the fit."""
        check_is_fitted(self)
        names = self.release_.schema.names if self.release_.named else None
        reader = Reader(self.release_.schema.categories, self.person_id, person_needed=False, order=names)
        source = open_source(X, reader, names)
        n_columns = source.head.n_columns
        if n_columns != self.n_features_in_:
            raise DataError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
            )
        return source

    @property
    def _labeller(self) -> Labeller:
        self._missing_rule()
        return Labeller.of(self.release_, self.on_missing)

    def _fitted_labels(
        self, table: Table, engine: LocalEngine, cluster_of_node: NDArray[np.int64], limit: PersonLimit | None
    ) -> NDArray[np.int32]:
        """Return the nearest cluster of every row of the fitted table; the node that a row is in is a hint."""
        labeller, nodes = self._labeller, engine.nodes_of_rows()
        if limit is not None:  # rows that were not kept may lack values, and nobody has been told yet
            nodes = None
            labeller = replace(labeller, on_missing="drop" if self.on_missing == "error" else self.on_missing)
        return labeller.hinted_labels(table, engine.threads, nodes, cluster_of_node)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the released clusters, or scikit-learn's display before a fit."""
        if not hasattr(self, "release_"):
            return str(super()._repr_html_())
        from dpmondrian.show import release_html

        return release_html(self.release_)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return the same for notebooks that ask for all kinds of displays at once."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __dir__(self) -> list[str]:
        # Whatever lists attributes, such as scikit-learn's display in notebooks, must not come across the labels.
        return [name for name in super().__dir__() if name not in ("labels_", "_labels")]

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_labels"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.on_missing != "error"
        return tags
