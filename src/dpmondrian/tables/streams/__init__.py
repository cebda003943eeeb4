"""Tables that are read piece by piece, as often as needed: files, DuckDB relations, polars LazyFrames, Arrow readers.

No more of them is in memory than the pieces that are worked on. Names and types are known before a row is read.
"""

from dpmondrian.tables.streams.opening import open_stream
from dpmondrian.tables.streams.stream import Stream

__all__ = ["Stream", "open_stream"]
