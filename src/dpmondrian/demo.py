"""``make demo``: cluster the homes of invented patients and show everything that may be published about them."""

from __future__ import annotations

from pathlib import Path

from dpmondrian.artifact import Release
from dpmondrian.datasets.synthetic import HOME_BOUNDS, homes

__all__ = ["draw", "main"]


def main(folder: str | Path = "demo-output") -> None:
    """Fit DPM on the homes of 20,000 invented patients; print the release, write a picture and a JSON file."""
    import pyarrow as pa

    from dpmondrian.estimator import DPM

    rows, _ = homes()
    print("Where do 20,000 (invented) patients live? epsilon = 1, delta = 1e-7, no number of clusters given.\n")
    model = DPM(epsilon=1.0, delta=1e-7, bounds=HOME_BOUNDS).fit(pa.table(dict(zip(HOME_BOUNDS, rows.T, strict=True))))
    _print_clusters(model.release_)
    print("\nRules\n")
    print(model.tree_)
    print("\nPrivacy\n")
    print(model.privacy_)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    model.save(target / "release.json")
    draw(model.release_, "east_km", "north_km", target / "clusters.png")
    print(f"\nWritten: {target / 'release.json'} and {target / 'clusters.png'}. Both may be published.")


def _print_clusters(release: Release) -> None:
    print(f"{len(release.centres)} clusters\n")
    print("  ".join(name.rjust(14) for name in ("size", *release.schema.names)))
    for size, size_error, centre, error in zip(
        release.sizes, release.size_errors, release.centres, release.centre_errors, strict=True
    ):
        cells = [f"{size:,.0f} ± {size_error:.0f}"] + [f"{c:.2f} ± {e:.2f}" for c, e in zip(centre, error, strict=True)]
        print("  ".join(cell.rjust(14) for cell in cells))


def draw(release: Release, x: str, y: str, path: str | Path) -> None:
    """Draw the clusters of a release in two of its columns: boxes between the cuts, centres by size."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    i, j = release.schema.names.index(x), release.schema.names.index(y)
    lower, upper = release.schema.lower, release.schema.upper
    colours = plt.get_cmap("tab10")
    figure, axes = plt.subplots(figsize=(5.6, 5.4), dpi=130)
    for cluster, box in release.tree.boxes(lower, upper):
        (x0, x1), (y0, y1) = box[i], box[j]
        axes.add_patch(
            Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor=colours(cluster % 10), alpha=0.10, edgecolor="none")
        )
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor="#444444", linewidth=1.0))
    share = release.sizes / release.sizes.sum()
    for cluster, centre in enumerate(release.centres):
        axes.scatter(
            centre[i], centre[j], s=150 + 3000 * share[cluster], color=colours(cluster % 10), alpha=0.85, zorder=3
        )
        axes.annotate(
            f"{release.sizes[cluster]:,.0f}", (centre[i], centre[j]), ha="center", va="center", fontsize=8, zorder=4
        )
    axes.set(xlim=(lower[i], upper[i]), ylim=(lower[j], upper[j]), xlabel=x, ylabel=y)
    privacy = release.privacy
    axes.set_title(
        f"{len(release.centres)} clusters, epsilon = {privacy.epsilon:g}, delta = {privacy.delta:g}", fontsize=10
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main()
