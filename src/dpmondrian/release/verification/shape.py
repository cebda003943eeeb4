"""Tree, sizes and centres of a release: whether they can belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpmondrian.dpm import Settings
    from dpmondrian.release.release import Release
    from dpmondrian.schema import Schema

_ROUNDING = 1e-9
_ROUNDED_SHARES = 1e-5  # of the shares of cells, which are released without digits that say nothing
_FAR = 40.0  # standard errors: noise is further away with a probability below 10^-24, Laplace noise included


class Fault(NamedTuple):
    """What is wrong with a release: the key of its words in the catalogue ("fault.levels"), and what is filled in."""

    key: str
    values: Mapping[str, Any] = MappingProxyType({})


def tree_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield why a tree cannot be one that was grown with these parameters."""
    tree = release.tree
    if tree.depths.max() > settings.max_depth:
        yield Fault("levels", {"max_depth": settings.max_depth})
    leaf = tree.column < 0
    if np.any(tree.column[leaf] != -1) or np.any(tree.left[leaf] != -1) or np.any(tree.right[leaf] != -1):
        yield Fault("leaf_with_parts")
    if np.any(tree.cluster[~leaf] != -1) or np.any(tree.cluster[leaf] < 0):
        yield Fault("cluster_of_node")
    if not np.isnan(tree.threshold[leaf]).all():
        yield Fault("leaf_with_cut")
    if settings.paper and len(np.unique(tree.cluster[leaf])) != len(release.sizes):
        yield Fault("cluster_without_part")
    if not _cuts_are_within_boxes(release):
        yield Fault("cut_outside")


def _cuts_are_within_boxes(release: Release) -> bool:
    """Return whether every cut divides the interval that the cuts above leave of its column."""
    tree, boxes = release.tree, {0: (release.schema.lower, release.schema.upper)}
    for node in np.flatnonzero(tree.column >= 0).tolist():
        low, high = boxes.pop(node)
        column, threshold = int(tree.column[node]), float(tree.threshold[node])
        if not low[column] <= threshold <= high[column]:
            return False
        below, above = high.copy(), low.copy()
        below[column] = above[column] = threshold
        boxes[int(tree.left[node])], boxes[int(tree.right[node])] = (low, below), (above, high)
    return True


def size_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield which sizes do not add up: exactly along the tree (in the paper's variant as drawn), else within their errors."""
    tree = release.tree
    inner = np.flatnonzero(tree.column >= 0)
    sides = np.stack([tree.left[inner], tree.right[inner]])
    gaps = np.abs(tree.size[inner] - tree.size[sides].sum(axis=0))
    allowed = _ROUNDING * (1.0 + np.abs(tree.size[sides]).sum(axis=0) + np.abs(tree.size[inner]))
    if settings.paper:
        allowed = allowed + _FAR * (tree.size_error[inner] + tree.size_error[sides].sum(axis=0))
    if np.any(gaps > allowed):
        yield Fault("sizes_of_parts")
    if np.any(np.diff(release.sizes) > 0.0):
        yield Fault("order")
    together = np.sqrt(
        (release.size_errors**2).sum() + tree.size_error[0] ** 2
    )  # at most: the errors have a part in common
    most = _FAR * together + _ROUNDING * abs(tree.size[0])
    if abs(release.sizes.sum() - tree.size[0]) > most:
        yield Fault("sizes")


def centre_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield why there cannot be so many clusters, or shares of categories are none."""
    n_clusters = len(release.sizes)
    if settings.n_clusters is not None and not settings.paper and n_clusters != settings.n_clusters:
        yield Fault("n_clusters", {"found": n_clusters, "asked": settings.n_clusters})
    if settings.n_clusters is not None and settings.paper and n_clusters > settings.n_clusters:
        yield Fault("more_clusters", {"found": n_clusters, "asked": settings.n_clusters})
    yield from _share_faults(release.schema, release.centres, _ROUNDING)


def _share_faults(schema: Schema, centres: NDArray[np.float64], rounding: float) -> Iterator[Fault]:
    """Yield columns of categories whose shares do not add up to one."""
    for name in schema.categories:
        shares = centres[:, schema.places[name]]
        if np.any(np.abs(shares.sum(axis=1) - 1.0) > rounding * shares.shape[1]):
            yield Fault("shares", {"column": repr(name)})


def cell_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield why there cannot be these cells: they hold all rows but those of small ones, which are left out."""
    cells, tree = release.cells, release.tree
    if (cells is None) != settings.paper:
        yield Fault("cells")
    if cells is None:
        return
    most = tree.n_leaves + 2 * len(cells)
    left_out, together = most * cells.size_error, np.sqrt(most * cells.size_error**2 + tree.size_error[0] ** 2)
    if abs(cells.sizes.sum() - tree.size[0]) > left_out + _FAR * together + _ROUNDING * abs(tree.size[0]):
        yield Fault("cell_sizes")
    yield from _share_faults(release.schema, cells.centres, _ROUNDED_SHARES)


def partition_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield why rows cannot belong to clusters by this rule."""
    partition, finds = release.partition, settings.finds_k
    if (partition is not None) != finds or (release.certainty is not None) != finds:
        yield Fault("partition")
    if partition is not None and partition.n_clusters != len(release.sizes):
        yield Fault("partition_clusters")


def profile_faults(release: Release, settings: Settings) -> Iterator[Fault]:
    """Yield why profiles and quality cannot be those of the clusters: whose they are, and how many rows they add up to."""
    profiles, figures = release.profiles, release.figures
    if (profiles is not None) != bool(settings.profiles) or (figures is not None) != bool(settings.profiles):
        yield Fault("profiles")
    if profiles is None:
        return
    chosen = settings.profile_names
    if len(profiles.histograms) != len(release.sizes) or set(profiles.names) != set(chosen or release.schema.names):
        yield Fault("profiles_of")
        return
    for own in zip(*profiles.histograms, strict=True):
        n_bins, rows = sum(len(one.counts) for one in own), sum(float(one.counts.sum()) for one in own)
        together = np.hypot(profiles.deviation * np.sqrt(n_bins), profiles.total_error)
        if abs(rows - profiles.total) > _FAR * together:
            yield Fault("profile_sizes")
