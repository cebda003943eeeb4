"""Who orders what, and when? Categories, amounts on a log scale, and customers with several orders."""

import sys
from pathlib import Path

from dpmondrian import DPM
from dpmondrian.samples.examples import customers
from dpmondrian.show.report import render_report


def main(folder: Path) -> None:
    """Cluster the orders of 6,000 invented customers, two orders of each."""
    folder.mkdir(parents=True)
    table = customers()

    model = DPM(
        epsilon=1.0,
        delta=1e-7,
        bounds={
            "amount": (1, 10_000, "log"),  # 10 and 20 euros are as far apart as 1,000 and 2,000
            "hour": (0, 24),
            "items": (1, 100, "int"),
            "channel": ["app", "web", "shop"],  # declared, not read from the data; everything else is "other"
        },
        person_id="customer",  # the promise is to customers, not to single orders,
        rows_per_person=2,  # so two orders of each are kept, at random
    ).fit(table)

    print(model.privacy_.unit)
    for name, values in zip(model.release_.schema.centre_names, model.cluster_centers_.T, strict=True):
        print(f"{name:15}", "  ".join(f"{value:9.2f}" for value in values))

    model.save(folder / "release.json")
    (folder / "report.html").write_text(render_report(model.release_), encoding="utf-8")
    print(f"\nWritten to {folder}: release.json, report.html")

    # For the shop's own eyes: which orders belong to which group. Never part of the release.
    print(f"Sensitive, not written: {len(model.predict(table))} labels")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-customers"))
