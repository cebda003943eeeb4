"""``dpm demo``: everything once, on invented people."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import printed

if TYPE_CHECKING:
    from dpmondrian.release import Release


def demo(
    example: Annotated[str, typer.Argument(help="One of locations, patients, customers.")] = "locations",
    out: Annotated[
        Path | None, typer.Option(help="Output folder. Must not exist yet.", show_default="demo-EXAMPLE")
    ] = None,
) -> None:
    """Generate a table about invented people, cluster it, and show everything that may be published.

    \b
    Examples:
      dpm demo
      dpm demo customers --out /tmp/customers
    """  # noqa: D301
    from dpmondrian.cli.cluster import Run, cluster_files
    from dpmondrian.cli.inputs import public_facts
    from dpmondrian.common.checks import nearest_names
    from dpmondrian.common.whole_files import new_folder
    from dpmondrian.samples import EXAMPLES
    from dpmondrian.tables import Source

    if example not in EXAMPLES:
        hint = nearest_names([example], list(EXAMPLES)) or f" Available examples: {', '.join(EXAMPLES)}."
        raise typer.BadParameter(f"There is no example {example!r}.{hint}", param_hint="EXAMPLE")
    folder = out or Path(f"demo-{example}")
    with new_folder(folder) as unfinished:
        table, schema = unfinished / f"{example}.csv", unfinished / "schema.toml"
        _write_inputs(example, table, schema)
        release = cluster_files(Run([Source(table)], public_facts(schema, None), unfinished / "published"))
    with printed(f"The results were written to {folder}."):
        _print(release, example, folder)


def _print(release: Release, example: str, folder: Path) -> None:
    from dpmondrian.cli.show import print_clusters
    from dpmondrian.common.printable import printable
    from dpmondrian.samples import EXAMPLES
    from dpmondrian.show.texts import statement_sentences

    say_text(
        f"{EXAMPLES[example].about} (Invented people; epsilon = 1, delta = 1e-7, the number of clusters was not given.)\n"
    )
    print_clusters(release)
    promise = "\n".join(map(printable, statement_sentences(release.privacy)))
    say_text(
        f"\nRules (their sizes have more noise than those above)\n\n{release.tree}\n\nPrivacy (the report contains the full ledger)\n\n{promise}\n"
    )
    say(
        f"Written to {folder / 'published'}: release.json, centres.csv, profiles.csv and report.html. These files may be published."
    )
    table, schema = (shlex.quote(str(folder / name)) for name in (f"{example}.csv", "schema.toml"))
    say(f"To run the clustering again: dpm cluster {table} --schema {schema} --out again")


def _write_inputs(example: str, table: Path, schema: Path) -> None:
    import io

    import pyarrow.csv

    from dpmondrian.common.whole_files import put_bytes
    from dpmondrian.samples import EXAMPLES
    from dpmondrian.schema import write_schema

    content = io.BytesIO()
    pyarrow.csv.write_csv(EXAMPLES[example].make(), content)
    put_bytes(table, content.getvalue())
    write_schema(EXAMPLES[example].table_schema, schema)
