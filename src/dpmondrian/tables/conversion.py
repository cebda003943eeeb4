"""From values of a file to columns of numbers and texts, by type and never by value.

Numbers keep their type (integers, float32, float64); truth values become 0 and 1, decimals float64. Texts are taken as they
are; other values become texts one by one, as in `dpmondrian.schema.texts`. Ids of persons keep their type, whatever it is, because it is
part of what they say (`dpmondrian.tables.identities`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias

from dpmondrian.exceptions import DataError
from dpmondrian.schema import Notation, NoTextError, UnreadableError, is_text, text_of, texts_of_arrow
from dpmondrian.tables.failures import failure, no_number, not_usable, not_utf8
from dpmondrian.tables.identities import NoIdError, kind_of_field
from dpmondrian.tables.source import Origin, Piece, ready

Kind: TypeAlias = Literal["number", "text", "id"] | Notation
"""What a column is read as. An "id" keeps its own type; in a file without types it is a text, as it is written. A notation says how
numbers are written."""


def kind_of(type_: Any) -> str:
    """Return the kind of an Arrow type: "whole", "number", "truth", "text", "date" or "unknown"."""
    from pyarrow import types

    type_ = _plain(type_)
    kinds = {
        "whole": (types.is_integer,),
        "number": (types.is_floating, types.is_decimal),
        "truth": (types.is_boolean,),
        "text": (is_text,),
        "date": (types.is_temporal,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(type_) for test in tests)), "unknown")


def _plain(type_: Any) -> Any:
    """Return the type of the values of a dictionary or an extension."""
    import pyarrow

    if isinstance(type_, pyarrow.BaseExtensionType):
        return _plain(type_.storage_type)
    return _plain(type_.value_type) if pyarrow.types.is_dictionary(type_) else type_


def target_schema(source: Origin, schema: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return the Arrow schema of what will be read, from the schema of a file; refuse types that cannot be used."""
    import pyarrow

    fields = [(name, _target(source, schema.field(name), kind)) for name, kind in kinds.items()]
    return pyarrow.schema(fields)


def _target(source: Origin, field: Any, wanted: Kind) -> Any:
    import pyarrow

    if isinstance(wanted, Notation):
        return pyarrow.float64()
    if wanted == "id":
        return _id_target(source, field)
    type_, kind = _plain(field.type), kind_of(field.type)
    if pyarrow.types.is_null(type_):
        return {"number": pyarrow.float64(), "text": pyarrow.string()}[wanted]
    if wanted == "text":
        is_bytes = pyarrow.types.is_binary(type_) or pyarrow.types.is_large_binary(type_)
        if is_bytes or (kind != "unknown" and not pyarrow.types.is_duration(type_)):
            return pyarrow.string()
    elif kind == "truth":
        return pyarrow.uint8()
    elif kind == "whole":
        return type_
    elif kind == "number":
        small = pyarrow.types.is_float16(type_) or pyarrow.types.is_float32(type_)
        return pyarrow.float32() if small else pyarrow.float64()
    raise not_usable(source, field.name, kind if kind != "unknown" else "nested or binary", f"{wanted}s")


def _id_target(source: Origin, field: Any) -> Any:
    """Return the type in which ids are read: their own, of which only the layout of texts may change."""
    import pyarrow

    try:
        kind = kind_of_field(field)  # before an extension becomes what is stored
    except NoIdError as error:
        refused = unusable_ids(source, field.name, error)
    else:
        return pyarrow.string() if kind == "text" else _plain(field.type)
    raise refused


def unusable_ids(source: Origin, name: str, error: NoIdError) -> DataError:
    """Return the error for a column of persons."""
    return failure(source, f"has person ids in a column that cannot be used: {name!r} {error}", error.way_out)


def without_types(kinds: Mapping[str, Kind]) -> Any:
    """Return the Arrow schema of what will be read from a file that has no types."""
    import pyarrow

    return pyarrow.schema(
        [(name, pyarrow.string() if kind in ("text", "id") else pyarrow.float64()) for name, kind in kinds.items()]
    )


def table_of(source: Origin, batches: Iterable[Any], target: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return record batches as a table with the columns and types of the target schema."""
    import pyarrow

    return pyarrow.Table.from_batches([converted(source, batch, target, kinds) for batch in batches], schema=target)


def numbers_of(source: Origin, name: str, values: Any, notation: Notation) -> Any:
    """Return an Arrow array, or a list of Python values, as the numbers that they stand for in a notation."""
    import pyarrow

    try:
        is_array = isinstance(values, pyarrow.Array)
        numbers = notation.of_arrow(values) if is_array else notation.of_values(values)
        return pyarrow.array(numbers, pyarrow.float64())
    except UnreadableError as error:
        refused = failure(source, f"has a value in column {name!r} that {error}", error.way_out)
    except (pyarrow.ArrowException, NoTextError):  # lists, objects, bytes; its words may quote a value
        refused = failure(source, f"has a value in column {name!r} that {notation.problem}")
    raise refused


def converted(source: Origin, batch: Any, target: Any, kinds: Mapping[str, Kind]) -> Any:
    """Return a record batch with the columns and types of the target schema; columns that fit are not copied."""
    import pyarrow

    columns = []
    for field in target:
        kind = kinds[field.name]
        if isinstance(kind, Notation):
            own = batch.column(batch.schema.get_field_index(field.name))
            columns.append(numbers_of(source, field.name, own, kind))
            continue
        try:
            column = _as_type(batch.column(batch.schema.get_field_index(field.name)), field.type)
            if field.type == pyarrow.string():
                column.validate(full=True)  # Parquet promises UTF-8, and nobody checks
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, NoTextError):
            if field.type != pyarrow.string():
                raise no_number(source, field.name) from None
            raise _no_text(source, field.name, batch.schema.field(field.name).type) from None
        columns.append(column)
    return pyarrow.record_batch(columns, schema=target)


def _no_text(source: Origin, name: str, type_: Any) -> DataError:
    """Return the error for a column of a typed file that should be texts and has a value that is none."""
    kind = kind_of(type_)
    if kind == "text":
        return not_utf8(source)
    if kind == "date":
        return failure(
            source,
            f"has times in column {name!r} that cannot be written as strings; their time zone may be unknown",
            "Convert them to strings, numbers or UTC.",
        )
    return failure(
        source,
        f"has bytes in column {name!r} that are not UTF-8 text",
        "Convert them to strings, for example hexadecimal digits.",
    )


def _as_type(column: Any, type_: Any) -> Any:
    import pyarrow

    if isinstance(column, pyarrow.ExtensionArray):
        column = column.storage
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.type == type_:
        return column
    if type_ == pyarrow.string():
        return texts_of_arrow(column).cast(type_)
    if pyarrow.types.is_decimal(column.type):  # Arrow rounds by the scale of the type; a number is rounded by itself
        return pyarrow.array([None if value is None else float(value) for value in column.to_pylist()], type_)
    return column.cast(type_)


def column_of_values(source: Origin, name: str, values: Sequence[Any], kind: Kind) -> Any:
    """Return Python values as an Arrow column, float64 or string, ids in the type that they have; None is missing."""
    import pyarrow

    if isinstance(kind, Notation):
        return numbers_of(source, name, values, kind)
    if kind == "id":
        return _ids(source, name, values)
    if kind == "text":
        return pyarrow.array([_text(source, name, value) for value in values], pyarrow.string())
    with suppress(pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return pyarrow.array(values, pyarrow.float64())
    # Truth values, large integers, or no numbers. Outside of the block above, whose error quotes a value.
    return pyarrow.array([_number(source, name, value) for value in values], pyarrow.float64())


def ready_values(
    source: Origin, values: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind], done: int, total: int | None
) -> Piece:
    """Return Python values, column by column, as a piece that is read already."""
    import pyarrow

    arrays = [column_of_values(source, name, values[name], kind) for name, kind in kinds.items()]
    return ready(pyarrow.record_batch(arrays, names=list(kinds)), done, total)


def counted_pieces(source: Origin, batches: Iterable[Any], target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield record batches as pieces, with the rows read so far; how many there are is not known."""
    done = 0
    for batch in batches:
        done += batch.num_rows
        yield Piece(partial(table_of, source, [batch], target, kinds), done, None)


def _ids(source: Origin, name: str, values: Sequence[Any]) -> Any:
    """Return ids as a column of the one type that all of them have. A reader must not round them, so floats are none."""
    import pyarrow

    known = [value for value in values if value is not None]
    kind = next((kind for kind in (str, bool, int, bytes) if all(type(value) is kind for value in known)), None)
    if kind is None or (kind is int and any(not -(2**63) <= value < 2**63 for value in known)):
        raise failure(
            source,
            f"has person ids in column {name!r} that are neither all strings nor all 64-bit integers: 7, 7.0 and '7' may be "
            "one person or several",
            "Correct them at the source, so that each person has one id; a query that converts them to strings would only hide the difference:"
            " '7' and '7.0' are two people.",
        )
    types = {str: pyarrow.string(), bool: pyarrow.bool_(), int: pyarrow.int64(), bytes: pyarrow.binary()}
    return pyarrow.array(values, types[kind] if known else pyarrow.null())


def _number(source: Origin, name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool | int | float):
        raise no_number(source, name)
    try:
        return float(value)
    except OverflowError:  # as CSV files are read: beyond all floats is infinite
        return float("inf") if value > 0 else float("-inf")


def _text(source: Origin, name: str, value: Any) -> str | None:
    try:
        return text_of(value)
    except NoTextError:
        raise failure(
            source,
            f"has lists, objects or bytes in column {name!r}, which cannot be read as strings",
            "Remove it, or convert it to numbers or strings.",
        ) from None
