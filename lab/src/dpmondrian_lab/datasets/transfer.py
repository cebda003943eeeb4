"""Download one file: streamed, limited in size, checked, and with errors that say in one sentence what to do."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from dpmondrian._version import __version__
from dpmondrian_lab.datasets.files import Progress
from dpmondrian_lab.exceptions import DownloadError

__all__ = ["download"]

_CHUNK = 1 << 18
_TIMEOUT = 30.0
"""Seconds without a byte until a server counts as unreachable."""


def download(address: str, path: Path, limit: int, sha256: str = "", progress: Progress | None = None) -> None:
    """Write what an address serves to a file.

    Parameters
    ----------
    address : str
        Must be https; http is taken from this machine only.
    path : Path
        Is left half written after an error: give a path in a folder that is thrown away then.
    limit : int
        Most bytes that are taken.
    sha256 : str
        Of the whole file; empty: not checked.
    progress : callable, optional
        Told the name of the file, the bytes that have come and those there are.
    """
    with _open(address) as response, path.open("wb") as file:
        found = _copy(response, file, limit, progress)
    if sha256 not in ("", found):
        raise DownloadError(f"What {address} serves is not the expected file: its SHA-256 is {found}, not {sha256}.")


def _open(address: str) -> Any:
    """Return the response of a server."""
    _check_scheme(address)
    opener = urllib.request.build_opener(_SafeRedirects())
    opener.addheaders = [("User-Agent", f"dpmondrian/{__version__}")]
    try:
        return opener.open(address, timeout=_TIMEOUT)
    except DownloadError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"The server refused {address}: {error.code} {error.reason}.") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(f"Could not reach {address}: {reason}. Check the network connection.") from None


def _copy(response: Any, file: IO[bytes], limit: int, progress: Progress | None) -> str:
    """Copy a response to a file and return the SHA-256 of what came."""
    address, digest, done = response.geturl(), hashlib.sha256(), 0
    total = _announced(response)
    while chunk := _read(response):
        done += len(chunk)
        if max(done, total) > limit:
            raise DownloadError(
                f"What {address} serves is larger than {limit:,} bytes, so it is not the expected file."
            )
        file.write(chunk)
        digest.update(chunk)
        if progress is not None:
            progress(urlsplit(address).path.rpartition("/")[2], done, total)
    if done < total:
        raise DownloadError(f"The connection broke after {done:,} of {total:,} bytes of {address}. Try again.")
    return digest.hexdigest()


def _announced(response: Any) -> int:
    """Return the number of bytes that the server says will come, or 0."""
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else 0


def _read(response: Any) -> bytes:
    try:
        return bytes(response.read(_CHUNK))
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(
            f"The connection broke while downloading {response.geturl()}: {error}. Try again."
        ) from None


def _check_scheme(address: str) -> None:
    """Refuse addresses that could be changed on the way, and those that are no web addresses."""
    parts = urlsplit(address)
    if parts.scheme != "https" and (parts.scheme, parts.hostname) != ("http", "127.0.0.1"):
        raise DownloadError(f"The address {address} is not https.")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections to https only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        _check_scheme(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
