"""The page ``README.md`` of an output folder: text from a template, numbers, tables and checks from rows.

Parts of the template between ``<!-- needs: kopt -->`` and ``<!-- end -->`` are left out if that experiment has no rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.exceptions import RowsError
from dpmondrian_lab.experiments.catalogue import EXPERIMENTS, make_experiment
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.checks import check_all
from dpmondrian_lab.pages.names import algorithm_name, data_set_name
from dpmondrian_lab.pages.summary import grouped
from dpmondrian_lab.pages.tables import make_table, markdown_table, timing_markdown
from dpmondrian_lab.pages.targets import TARGETS
from dpmondrian_lab.pages.values import Values, fill

__all__ = ["kept_parts", "page_text", "repetitions", "write_page"]


def write_page(store: Store) -> Path:
    """Write the page of an output folder and return its path."""
    rows = {name: store.published(name) for name in EXPERIMENTS}
    facts = store.folder / "rows" / "machine.json"
    try:
        machine = json.loads(facts.read_text(encoding="utf-8")) if facts.exists() else {}
    except ValueError:
        raise RowsError(f"The file {facts} is damaged. Delete it; dpm reproduce fig5 --again writes it anew.") from None
    path = store.folder / "README.md"
    write_file(path, page_text(rows, machine), overwrite=True, make_folder=True)
    return path


def page_text(rows: Mapping[str, list[Row]], machine: Mapping[str, str]) -> str:
    """Return the page from the rows of all experiments by name, and the facts about the machine."""
    kopt, timing = rows["kopt"], rows["timing"]
    given = {
        "checks": "\n".join(str(check) for check in check_all(kopt, timing)),
        "table2": _table(kopt, "table2"),
        "table3": _table(kopt, "table3"),
        "timing_table": timing_markdown(timing).strip(),
        "machine": "\n".join(f"| {name} | {fact} |" for name, fact in machine.items()),
        "completeness": ", ".join(_completeness(name, group) for name, group in rows.items()),
        "settings_budget": _settings(rows["budget"]),
        "failed": _failed([row for group in rows.values() for row in group]),
        **{f"runs_{name}": repetitions(group) for name, group in rows.items()},
    }
    text = files("dpmondrian_lab.pages").joinpath("templates", "page.md").read_text(encoding="utf-8")
    return fill(kept_parts(text, {name for name, group in rows.items() if group}), Values(given, kopt, timing))


def _table(rows: list[Row], name: str) -> str:
    shown = [row for row in rows if TARGETS[name].shows(row.run.data_set)]
    return markdown_table(make_table(shown)).strip() if shown else "Not measured."


def kept_parts(text: str, measured: set[str]) -> str:
    """Return the template without the parts that need experiments without rows."""

    def part(found: re.Match[str]) -> str:
        return found[2] if found[1] in measured else ""

    return re.sub(r"<!-- needs: (\w+) -->\n(.*?)<!-- end -->\n", part, text, flags=re.DOTALL)


def repetitions(rows: list[Row]) -> str:
    """Return how many runs each combination has, such as "10 (EM-MC: 3)"."""
    numbers: dict[str, int] = {}
    for row in rows:
        numbers[row.run.algorithm] = max(numbers.get(row.run.algorithm, 0), row.run.iteration + 1)
    if not numbers:
        return "0"
    most = max(numbers.values())
    fewer = [f"{algorithm_name(algorithm)}: {number}" for algorithm, number in numbers.items() if number < most]
    return f"{most} ({', '.join(fewer)})" if fewer else str(most)


def _completeness(name: str, rows: list[Row]) -> str:
    """Return how much of an experiment there is, such as "kopt 126 of 1,440"."""
    wanted = {run.key for run in make_experiment(name).runs(rows[0].run.base_seed or 0)} if rows else set()
    total = len(wanted) or len(make_experiment(name).runs())
    return f"{name} {sum(row.run.key in wanted for row in rows):,} of {total:,}"


def _settings(rows: list[Row]) -> str:
    """Return how many parameters each algorithm was run with, such as "84 for DPM"."""
    numbers = {key: len({row.run.parameters for row in group}) for (_, key), group in grouped(rows).items()}
    return ", ".join(f"{number} for {algorithm_name(key)}" for key, number in numbers.items())


def _failed(rows: list[Row]) -> str:
    """Return a list of the failed runs by algorithm and data set, with the first error."""
    groups = grouped(row for row in rows if row.failed)
    lines = [
        f"- {algorithm_name(algorithm)} on {data_set_name(data_set)}: {len(group)} failed. {group[0].error}"
        for (data_set, algorithm), group in groups.items()
    ]
    return "\n".join(lines) or "No run failed."
