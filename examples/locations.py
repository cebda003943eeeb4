"""Where do patients live? A map with private clusters, and other numbers of clusters for free."""

import sys
from pathlib import Path

from dpmondrian import DPM
from dpmondrian.samples.examples import locations
from dpmondrian.show.report import render_report


def main(folder: Path) -> None:
    """Cluster the homes of 20,000 invented patients."""
    folder.mkdir(parents=True)
    table = locations()

    # The edges of the map are public: they are known without looking at a single home.
    model = DPM(epsilon=1.0, delta=1e-7, bounds={"east_km": (0, 100), "north_km": (0, 100)}).fit(table)
    print(f"{model.n_clusters_} towns")
    print(model.tree_)

    # Everything below uses released values only, so it costs nothing more.
    for k in (2, 4):
        print(f"\nAs {k} regions:", model.tree_.cut(k).sizes.round())

    model.save(folder / "release.json")
    (folder / "report.html").write_text(render_report(model.release_), encoding="utf-8")
    model.plot("east_km", "north_km").figure.savefig(folder / "map.png", dpi=150)
    model.tree_.plot_hierarchy().figure.savefig(folder / "hierarchy.png", dpi=150)
    print(f"\nWritten to {folder}: release.json, report.html, map.png, hierarchy.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-locations"))
