"""Tables that are read piece by piece, as often as needed: files, DuckDB relations, polars LazyFrames, Arrow readers.

No more of them is in memory than the pieces that are worked on. Names and types are known before a row is read.
"""

from dpmondrian.tables.streams.file_stream import Files, open_files
from dpmondrian.tables.streams.opening import open_stream
from dpmondrian.tables.streams.paths import sources_of
from dpmondrian.tables.streams.stream import Progress, Stream

__all__ = ["Files", "Progress", "Stream", "open_files", "open_stream", "sources_of"]
