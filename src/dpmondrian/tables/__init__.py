"""Any table becomes blocks of rows: arrays, data frames, files of any format, databases, streams; and whose rows they are.

This is the front: other rooms import from here. `open_table` takes whatever `DPM.fit` takes on this machine. A file is opened once
for its names and types (`open_file`, `open_files`), and once more in every pass over its rows.
"""

from dpmondrian.tables.conversion import Kind
from dpmondrian.tables.files import Files, OpenedFile, open_file, open_files
from dpmondrian.tables.frames import PART_ROWS, Reader, Table, frame_of, frames_of, open_table, read_table
from dpmondrian.tables.identities import identities_of_values, one_kind
from dpmondrian.tables.opening import sources_of
from dpmondrian.tables.persons import PersonLimit, row_hashes, rows_to_keep, rows_to_keep_in_passes
from dpmondrian.tables.source import DATABASES, ENDINGS, FORMATS, SERVERS, Source, without_secret
from dpmondrian.tables.stream import Progress, Stream

__all__ = [
    "DATABASES",
    "ENDINGS",
    "FORMATS",
    "PART_ROWS",
    "SERVERS",
    "Files",
    "Kind",
    "OpenedFile",
    "PersonLimit",
    "Progress",
    "Reader",
    "Source",
    "Stream",
    "Table",
    "frame_of",
    "frames_of",
    "identities_of_values",
    "one_kind",
    "open_file",
    "open_files",
    "open_table",
    "read_table",
    "row_hashes",
    "rows_to_keep",
    "rows_to_keep_in_passes",
    "sources_of",
    "without_secret",
]
