"""Locks on opened files. The system gives them back when a file is closed or its process ends, however that happens."""

from __future__ import annotations

from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None

CAN_LOCK = fcntl is not None


def lock(handle: int) -> bool:
    """Lock an opened file for as long as it is open, and return whether nobody else had locked it: True where there are no locks."""
    if not CAN_LOCK:  # pragma: no cover
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
