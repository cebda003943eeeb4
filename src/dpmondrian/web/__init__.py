"""The local web page: from a file to a published clustering, for people who do not program.

A server on the loopback address only. It shows pages, keeps what was typed on the disk, and starts the same command that a user of the
terminal would: `dpm cluster` reads the rows, charges the budget and writes the release, in a process of its own.
"""

from __future__ import annotations

from dpmondrian.web.server import Address, serve

__all__ = ["Address", "serve"]
