"""Any table becomes blocks of rows: arrays, data frames, files of any format, databases, streams; and whose rows they are.

This is the front: other rooms import from here. `open_table` takes whatever `DPM.fit` takes on this machine. A file is opened once
for its names and types (`open_file`, `open_files`), and once more in every pass over its rows.
"""

from dpmondrian.tables.files import OpenedFile, columns_of, open_file, read_columns
from dpmondrian.tables.frames import Reader, Table, read_table
from dpmondrian.tables.identities import identities_of_values, one_kind
from dpmondrian.tables.opening import open_table
from dpmondrian.tables.persons import PersonLimit, kept, kept_in_passes, row_hashes
from dpmondrian.tables.sizes import PART_ROWS
from dpmondrian.tables.source import DATABASES, ENDINGS, Source
from dpmondrian.tables.streams import Files, Progress, Stream, open_files, sources_of

__all__ = [
    "DATABASES",
    "ENDINGS",
    "PART_ROWS",
    "Files",
    "OpenedFile",
    "PersonLimit",
    "Progress",
    "Reader",
    "Source",
    "Stream",
    "Table",
    "columns_of",
    "identities_of_values",
    "kept",
    "kept_in_passes",
    "one_kind",
    "open_file",
    "open_files",
    "open_table",
    "read_columns",
    "read_table",
    "row_hashes",
    "sources_of",
]
