"""``dpm predict``: the cluster of every row of a file, for whoever may see the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpmondrian.cli.inputs import DelimiterOption, FileArgument, QueryOption, QuietOption, rows_of_release
from dpmondrian.cli.stopping import printed

__all__ = ["ReleaseArgument", "predict"]

ReleaseArgument = Annotated[Path, typer.Argument(help="A release.json that 'dpm cluster' wrote.")]

_ENDINGS = (".parquet", ".csv")


def predict(
    release: ReleaseArgument,
    file: FileArgument,
    out: Annotated[Path, typer.Option(help="File for the labels, .parquet or .csv; must not exist.")],
    on_missing: Annotated[
        str | None,
        typer.Option(help="Missing values: error, drop (label -1), or the middle.", show_default="as in the release"),
    ] = None,
    query: QueryOption = None,
    delimiter: DelimiterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write the nearest cluster of every row of a file. The result is SENSITIVE: it speaks about single rows.

    Clusters are numbered as in the release, from 0; -1 is a row with missing values that is left out.

    \b
    Examples:
      dpm predict published/release.json patients.csv --out labels.parquet
      dpm predict published/release.json new-patients.parquet --out labels.csv --on-missing drop
    """  # noqa: D301
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.estimator import DPM
    from dpmondrian.files.output import put_bytes
    from dpmondrian.files.tables import Source

    if out.suffix not in _ENDINGS:
        raise typer.BadParameter(f"Labels are written as .parquet or .csv. Got {str(out)!r}.", param_hint="--out")
    model = DPM.load(release)
    if on_missing is not None:
        model.set_params(on_missing=on_missing).check_parameters()
    with FitBars(quiet) as bars:
        labels = model.predict(rows_of_release(model.release_.schema, Source(file, query, delimiter), None, bars.read))
    put_bytes(out, _encoded(labels, out.suffix), private=True)
    if quiet:
        return
    with printed(f"The labels are written: {out}"):
        typer.echo(f"Written: {out}. SENSITIVE: it tells the cluster of every row and stays with you.")


def _encoded(labels: object, ending: str) -> bytes:
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    target, table = io.BytesIO(), pa.table({"cluster": pa.array(labels)})
    if ending == ".csv":
        pa.csv.write_csv(table, target)
    else:
        pa.parquet.write_table(table, target)
    return target.getvalue()
