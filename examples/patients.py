"""Which kinds of patients are there? A plan before the data is touched, a budget file, then the release."""

import sys
from pathlib import Path

from dpmondrian import DPM, Budget, BudgetError
from dpmondrian.planning import forecast
from dpmondrian.samples.examples import EXAMPLES, patients
from dpmondrian.show.report import render_report


def main(folder: Path) -> None:
    """Plan, then cluster 20,000 invented patients, once."""
    folder.mkdir(parents=True)
    schema = EXAMPLES["patients"].table_schema.schema

    # What will epsilon = 1 bring? From a guess of the number of patients, before anything is read.
    print(forecast(20_000, schema, epsilon=1.0, delta=1e-7))

    # The whole budget of this data set, for ever. A file, so that the next person knows what is left.
    budget = Budget.create(folder / "budget.json", epsilon=1.5, delta=1e-6, data_set="patients")
    model = DPM(epsilon=1.0, delta=1e-7, bounds=schema).fit(patients(), budget=budget)
    print(f"\n{model.n_clusters_} kinds of patients")
    print(model.release_.to_csv())

    try:
        DPM(epsilon=1.0, delta=1e-7, bounds=schema).fit(patients(), budget=budget)
    except BudgetError as error:
        print(f"Once more? {error}")

    model.save(folder / "release.json")
    (folder / "report.html").write_text(render_report(model.release_), encoding="utf-8")
    print(f"\nWritten to {folder}: release.json, report.html, budget.json")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example-patients"))
