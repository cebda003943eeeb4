"""The same release without the page: as a command, a Python script and a notebook. Given the same noise, each makes the same bytes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmondrian.schema import TableSchema


@dataclass(frozen=True)
class Recipe:
    """All that determines a release, besides the rows and the noise. Paths are texts, relative to where the page was started."""

    source: Mapping[str, Any]  # parameters of `dpmondrian.tables.Source`
    reading: Sequence[str]  # the same as options, but for the path
    declared: TableSchema
    schema: str  # file of the schema
    parameters: Mapping[str, Any]  # epsilon, delta, n_clusters, on_missing, random_state
    budget: str | None
    out: str

    @property
    def options(self) -> list[str]:
        """The arguments of ``dpm cluster``."""
        parameters = self.parameters
        options = [no_option(str(self.source["path"])), "--schema", self.schema, *self.reading]
        options += ["--epsilon", f"{parameters['epsilon']!r}", "--delta", f"{parameters['delta']!r}"]
        options += _option("k", parameters["n_clusters"])
        options += ["--on-missing", parameters["on_missing"]] if parameters["on_missing"] != "error" else []
        options += [*_option("seed", parameters["random_state"]), *_option("budget", self.budget)]
        return ["cluster", *options, "--out", self.out]

    def command(self) -> str:
        """Return the command, for a shell."""
        return " ".join(map(shlex.quote, ["dpm", *self.options]))

    def script(self) -> str:
        """Return a Python script."""
        return "\n".join(
            [f'"""{_ABOUT}"""', "", *self._imports(), "", *self._describe(), "", *self._fit(), "", *self._write(), ""]
        )

    def notebook(self) -> str:
        """Return a Jupyter notebook, as JSON."""
        cells = [
            _cell("markdown", [f"# {_ABOUT}"]),
            _cell("code", self._imports()),
            _cell("markdown", ["## What is public about the table"]),
            _cell("code", self._describe()),
            _cell("markdown", ["## Release: this spends epsilon each time it runs"]),
            _cell("code", self._fit()),
            _cell("code", ["release"]),
            _cell("markdown", ["## Files that may be published"]),
            _cell("code", self._write()),
        ]
        metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"

    def _imports(self) -> list[str]:
        return [
            "from pathlib import Path",
            "",
            "from dpmondrian import DPM, Schema, render_report",
            f"from dpmondrian.schema import {'Estimate, ' if self.declared.schema.estimate else ''}column_of",
            *(["from dpmondrian.tables import Source"] if self.reading else []),
        ]

    def _describe(self) -> list[str]:
        from dpmondrian.schema import section_of

        schema = self.declared.schema
        lines = [f"    {column.name!r}: {dict(section_of(column))!r}," for column in schema.columns]
        estimate = "" if schema.estimate is None else f", estimate={schema.estimate!r}"
        made = f"schema = Schema(tuple(column_of(name, facts) for name, facts in columns.items()){estimate})"
        return ["columns = {", *lines, "}", made]

    def _fit(self) -> list[str]:
        people = {"person_id": self.declared.person_id, "rows_per_person": self.declared.rows_per_person}
        chosen = {name: value for name, value in {**self.parameters, **people}.items() if value != _DEFAULTS[name]}
        lines = [
            "model = DPM(",
            "    bounds=schema,",
            *(f"    {name}={value!r}," for name, value in chosen.items()),
            ")",
        ]
        charged = "" if self.budget is None else f", budget={self.budget!r}"
        return [*lines, f"release = model.fit({self._table()}{charged}).release_"]

    def _table(self) -> str:
        if not self.reading:
            return repr(str(self.source["path"]))
        more = {name: value for name, value in self.source.items() if name != "path" and value not in (None, True)}
        return f"Source({str(self.source['path'])!r}, {', '.join(f'{name}={value!r}' for name, value in more.items())})"

    def _write(self) -> list[str]:
        return [
            f"folder = Path({self.out!r})",
            "folder.mkdir()",
            'release.save(folder / "release.json")',
            '(folder / "centres.csv").write_text(release.to_csv(), encoding="utf-8")',
            "if release.profiles is not None:",
            '    (folder / "profiles.csv").write_text(release.profiles_to_csv(), encoding="utf-8")',
            '(folder / "report.html").write_text(render_report(release), encoding="utf-8")',
        ]


_ABOUT = "A differentially private clustering, as it was put together in dpm web."
_DEFAULTS = {
    "epsilon": None,  # always written, because it is what people look for
    "delta": None,
    "n_clusters": None,
    "on_missing": "error",
    "random_state": None,
    "person_id": None,
    "rows_per_person": 1,
}


def no_option(path: str) -> str:
    """Return a path that no command takes for an option, whatever a stranger called the file."""
    return f"./{path}" if path.startswith("-") else path


def _option(name: str, value: Any) -> list[str]:
    return [] if value is None else [f"--{name.replace('_', '-')}", str(value)]


def _cell(kind: str, lines: Sequence[str]) -> dict[str, Any]:
    source = [f"{line}\n" for line in lines[:-1]] + list(lines[-1:])
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}
