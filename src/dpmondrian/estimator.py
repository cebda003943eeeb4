"""The scikit-learn estimator: it checks, calls the algorithm and sets attributes; no arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpmondrian.common.checks import check_integer
from dpmondrian.fitting import Fitter
from dpmondrian.release import Clusters, Description, Hierarchy, Labeller, Qualities, Quality, Release
from dpmondrian.tables import frame_of


class DPM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Fitter, BaseEstimator):  # type: ignore[misc]
    """Differentially private clustering that does not need the number of clusters.

    A fit releases cells: many small groups of rows with noisy centres and sizes. Without `n_clusters`, it then finds out what is
    apart, and how surely; with `n_clusters`, it moves that many centres to where the rows are. Clusters for every other k follow from
    the cells at no further cost (`clusters`). "How DPM decides" in the user guide explains this with pictures.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget. Smaller values give stronger privacy and more noise.
    delta : float, default=1e-7
        Probability that the epsilon bound fails. Should be well below 1 / (number of people); must be 0 (pure epsilon) or at least
        1e-300.
    bounds : pair, list of pairs, mapping from column name to pair, or Schema
        Range of every column, known *without looking at the data*. Values outside the range are clipped. An optional third item
        marks the column as integers (``"int"``) or not (``"float"``); by default, the column's type decides. ``"log"`` uses a log
        scale for a positive column whose values differ by ratios, such as incomes. A list of strings instead of a pair
        declares categories, ``{"plan": ["basic", "premium"]}``; see `Category`.
    n_clusters : int, default=None
        If None, the clusters are those that the data proves to be apart; there may be only one. If given, the cells are merged into
        `n_clusters` clusters, and private Lloyd steps refine them (the paper's variant merges the leaves of its tree, into at most
        `n_clusters`).
    variant : {"default", "paper"}, default="default"
        "paper" uses the paper's scores, budget shares, composition and averages, corrected where its guarantee failed.
    rows_per_person : int, default=1
        Maximum number of rows per person. Every sensitivity is multiplied by it.
    person_id : str, default=None
        Column that identifies the person a row belongs to. At most `rows_per_person` rows of each person are kept, chosen at
        random, before anything else. Ids are compared exactly as written ("7" and "007" are two people) and must all have the same
        type. If None, you guarantee that nobody has more than `rows_per_person` rows.
    on_missing : {"error", "drop", "middle"}, default="error"
        How to handle missing or infinite values: raise an error, drop the row, or replace them with the middle of the bounds. A
        missing answer to yes or no then counts as no, and a missing category as "other".
    max_depth : int, default=None
        Maximum number of levels of cuts, from 0 to 12. If None, 10 (12 with more than 128 clusters), or 7 in the paper's variant. The
        number of rows decides how many of them are used.
    windows : int, default=None
        Number of intervals per column in which rows are counted, from 2 to 2**14. If None, 128 to 1024: fewer for more columns.
    t, q : float, default=0.3, 1/12
        Shape of the centreness score, ``t >= 2q``.
    alpha : float, default=None
        Weight of emptiness. If None, 3, or 5 in the paper's variant.
    min_cluster_size : int, default=None
        Minimum noisy number of rows on each side of a cut of the tree. If None, 1/512 of all rows (1/128 in the paper's variant), and
        above the noise. A number is used as given, even below the noise.
    budget_shares : mapping, default=None
        Shares of the budget for "splits" and "counts" of the tree, for "cells", "clusters" and (unless ``profiles=False``) "profiles"; in the paper's variant for
        "interval", "counts", "splits" and "centres". If None, chosen by the number of columns and whether k is given.
    accountant : {"auto", "zcdp", "pld"}, default="auto"
        How the costs of all draws are converted to epsilon: from their sum in zero-concentrated differential privacy ("zcdp"), or
        from their composed privacy losses ("pld"), which mostly needs 2 to 6 % less noise for the same guarantee, and draws noise
        in smaller steps. "auto" uses the one that needs less noise; ``privacy_.accountant`` says which it was. "pld" requires
        ``delta > 0`` and is not available in the paper's variant.
    profiles : bool or list of str, default=True
        Columns of which a tenth of the budget releases a histogram per cluster, and with them the quality of the clusters: True for
        all of them, False for none at no cost. Fewer columns have less noise each. The paper's variant has none.
    random_state : int, RandomState, Generator or None, default=None
        None draws secure noise. Any other value makes the run reproducible, for research only: its result must not be released.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Released centres, largest cluster first. A categorical column is replaced by one column per category, with its share in
        the cluster (``release_.schema.centre_names``).
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Released noisy sizes, so not integers (in the paper's variant, those of the leaves).
    n_clusters_ : int
    certainty_ : ndarray of shape (n_clusters,) or None
        How sure it is that each cluster is apart from the others, from 0 to 1. None with `n_clusters` and in the paper's variant.
    cells_ : Coreset or None
        The released cells, of which `clusters` are made. None in the paper's variant.
    tree_ : Tree
        Released cuts; prints as rules.
    hierarchy_ : Hierarchy
        How the cells go together step by step; can be plotted.
    profiles_ : DataFrame
        Quartiles, standard deviations and shares of every cluster and of all rows, with 95 % intervals; pandas, or polars where the rows
        came as that. ``release_.profiles`` has the histograms. None without `profiles`.
    quality_ : Quality or None
        Silhouette and share of explained variance, with 95 % intervals. None without `profiles`.
    privacy_ : PrivacyStatement
        The privacy guarantee and every draw behind it. Prints as text; use ``to_json()`` for machines.
    release_ : Release
        All of the above in one object, which can be saved and published.
    labels_ : ndarray of shape (n_samples,)
        Sensitive: cluster of every row of `X`, -1 for rows dropped because of missing values. Not kept in pickles, copies or
        files.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if the table has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import DPM
    >>> rows = np.random.default_rng(0).normal(np.repeat([[20.0] * 4, [80.0] * 4], 5000, axis=0), 5.0)
    >>> model = DPM(epsilon=1.0, delta=1e-7, bounds=(0, 100)).fit(rows)
    >>> model.n_clusters_
    2
    >>> model.clusters(4).sizes.shape
    (4,)
    """

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Sensitive: the cluster of every row of the table, -1 for rows dropped because of missing values."""
        labels: NDArray[np.int32] | None = self.__dict__.get("_labels")
        if labels is None:
            raise AttributeError(
                "labels_ is only available after a fit on a table in memory, and not in copies, pickles or loaded releases. Call predict with the table."
            )
        return labels

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Cluster the rows of `X` and return the cluster of every row; see `fit` and `predict`."""
        self.fit(X, y, **options)
        return self._labels if "_labels" in self.__dict__ else self.predict(X)

    def predict(self, X: Any) -> Any:
        """Return the cluster of every row. The result is sensitive and must not be published.

        With `n_clusters`, that is the cluster with the nearest centre, as in KMeans. Otherwise it is the part of the space, between
        the gaps that were found, in which the row lies. Either way it may be a different cluster than the one whose rule in `tree_`
        the row matches. Rows are clipped to the bounds first. Columns of a named table can be in any order. With
        ``on_missing="drop"``, a row with missing values gets the label -1.

        Parameters
        ----------
        X : table
            As in `fit`.

        Returns
        -------
        labels : int32 array of shape (n_samples,)
            For a Spark DataFrame, a column to use with it: ``X.withColumn("cluster", model.predict(X))``. For a Dask DataFrame or
            Array, a Dask Series or Array. Both are evaluated lazily.
        """
        check_is_fitted(self)
        return Labeller.of(self.release_, self.on_missing).predict(X)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of every row to every centre. The result is sensitive and must not be published.

        Differences are scaled by the columns' ranges (`Schema.weights`); with equal bounds for all columns, this is the Euclidean
        distance. On a log scale, they are differences of logarithms. Rows are clipped to the bounds first. Only for tables on this
        machine.

        Parameters
        ----------
        X : table
            As in `fit`.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        return Labeller.of(self.release_, self.on_missing).transform(X)

    def clusters(self, k: int) -> Clusters:
        """Return k clusters made of the released cells. Reads no rows and spends nothing, for any k and as often as you like.

        Parameters
        ----------
        k : int
            Number of clusters, from 1 to 10,000. Whatever k is, the rows are divided into as many segments; only `certainty_` says
            whether clusters are apart. With more segments than cells, cells are divided, and errors say how little is known
            of their parts.

        Returns
        -------
        clusters : Clusters
            Centres, sizes, their errors, and the share of the variance that the clusters explain. Prints as a table; its `predict`
            labels rows.

        Examples
        --------
        >>> import numpy as np
        >>> from dpmondrian import DPM
        >>> rows = np.repeat(np.array([[10.0], [40.0], [90.0]]), 5000, axis=0)
        >>> model = DPM(bounds=(0, 100)).fit(rows)
        >>> model.clusters(2).sizes.round(-3)
        array([10000.,  5000.])
        """
        check_is_fitted(self)
        return self.release_.clusters(k)

    def qualities(self, ks: Iterable[int] | None = None) -> Qualities:
        """Return how good `clusters` are, for several k. Reads no rows and spends nothing.

        Parameters
        ----------
        ks : iterable of int, optional
            If None, from 1 to 20, or as far as silhouettes are measured: up to as many as there are cells, but 64 at most.

        Returns
        -------
        qualities : Qualities
            Prints as a table, and can be plotted.
        """
        check_is_fitted(self)
        return self.release_.qualities(ks)

    def explain(self, cluster: int) -> Description:
        """Return all that is known of one cluster, in words. Reads no rows and spends nothing.

        Parameters
        ----------
        cluster : int
            Its number, from 0 to ``n_clusters_ - 1``.

        Returns
        -------
        description : Description
            A text, which notebooks show line by line.
        """
        check_is_fitted(self)
        from dpmondrian.show.texts import cluster_text

        check_integer("cluster", cluster, 0, self.n_clusters_ - 1, "Clusters are numbered from 0.")
        return Description(cluster_text(self.release_, cluster))

    def sample(self, n_rows: int, random_state: int | None = None) -> Any:
        """Return synthetic rows, drawn from the released clusters, cells and profiles. Reads no rows and spends nothing.

        Parameters
        ----------
        n_rows : int
        random_state : int, optional
            Makes the rows reproducible. It endangers nothing: what is drawn from is released anyway.

        Returns
        -------
        rows : DataFrame or ndarray
            With the columns of the table, whole numbers and categories as such, all within the bounds; a frame of pandas, or polars
            where the rows came as that. An array if the columns have no names.
        """
        check_is_fitted(self)
        columns = self.release_.sample(n_rows, random_state)
        if not self.release_.named:
            return np.column_stack([values.astype(np.float64) for values in columns.values()])
        return frame_of(columns, self.__dict__.get("_frames"))

    @property
    def profiles_(self) -> Any:
        """Profiles of every cluster and of all rows as a tidy frame, or None."""
        check_is_fitted(self)
        profiles = self.release_.profiles
        if profiles is None:
            return None
        rows = profiles.rows()
        return frame_of({name: [row[name] for row in rows] for name in rows[0]}, self.__dict__.get("_frames"))

    @property
    def quality_(self) -> Quality | None:
        """How good the clusters are, or None."""
        check_is_fitted(self)
        return self.release_.quality

    @property
    def hierarchy_(self) -> Hierarchy:
        """How the released cells go together step by step."""
        check_is_fitted(self)
        if self.release_.cells is None:
            raise AttributeError("The paper's variant releases no cells, so there is no hierarchy of them.")
        return self.release_.hierarchy

    def plot(self, x: str | None = None, y: str | None = None, ax: Any = None) -> Any:
        """Plot clusters and cuts in two columns with matplotlib, and return the axes. Uses only released values.

        Parameters
        ----------
        x, y : str, optional
            Columns to plot (``release_.schema.centre_names``). If None, the columns that are cut first.
        ax : matplotlib Axes, optional
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        axes : matplotlib Axes
        """
        check_is_fitted(self)
        from dpmondrian.show.plots import plot_clusters

        return plot_clusters(self.release_, x, y, ax)

    def save(self, path: str | Path) -> None:
        """Save the release (centres, sizes, cells, tree, privacy statement) atomically to a JSON file; see `Release.save`."""
        check_is_fitted(self)
        self.release_.save(path)

    @classmethod
    def load(cls, path: str | Path) -> DPM:
        """Load a fitted estimator from a saved release. It can predict, and contains no rows.

        Raises `ReleaseFileError` if the file is not a release, or is inconsistent.
        """
        release = Release.load(path)
        model = cls(**release.all_parameters)
        model._take(release)
        return model

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

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
