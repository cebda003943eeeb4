"""Downloads, with the code that users run, from a server on this machine."""

import hashlib
import io
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpmondrian_lab.datasets import archives, download, fetch, get
from dpmondrian_lab.datasets.transfer import download as download_file
from dpmondrian_lab.exceptions import DatasetError, DownloadError

LETTERS = "/59/letter+recognition.zip"
GAS = "/551/gas+turbine+co+and+nox+emission+data+set.zip"


class Server(ThreadingHTTPServer):
    """Serves `pages`: bytes, a number as an error, a string as a redirection; announces `announced` bytes, if given."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked, self.announced = {}, [], None
        self.base = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path, 404)
        if isinstance(page, int):
            self.send_error(page)
        elif isinstance(page, str):
            self.send_response(302)
            self.send_header("Location", page)
            self.end_headers()
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(self.server.announced or len(page)))
            self.end_headers()
            self.wfile.write(page)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def zipped(**members):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return raw.getvalue()


def left_in(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file() or path.name.startswith("."))


# One file


def test_a_file_is_downloaded_with_progress(server, tmp_path):
    server.pages["/a/file.gz"] = page = bytes(600_000)
    steps = []
    download_file(
        f"{server.base}/a/file.gz",
        tmp_path / "file",
        600_000,
        hashlib.sha256(page).hexdigest(),
        lambda *step: steps.append(step),
    )
    assert (tmp_path / "file").read_bytes() == page
    assert steps[-1] == ("file.gz", 600_000, 600_000)
    assert len(steps) > 1


def test_another_file_than_expected_is_refused(server, tmp_path):
    server.pages["/file"] = b"other"
    with pytest.raises(DownloadError, match="not the expected file: its SHA-256 is d9298a10d1b0"):
        download_file(f"{server.base}/file", tmp_path / "file", 100, sha256="0" * 64)


def test_a_file_that_is_too_large_is_refused(server, tmp_path):
    server.pages["/file"] = bytes(1001)
    with pytest.raises(DownloadError, match="larger than 1,000 bytes"):
        download_file(f"{server.base}/file", tmp_path / "file", 1000)


def test_a_broken_connection_is_named(server, tmp_path):
    server.pages["/file"], server.announced = bytes(1000), 3000
    with pytest.raises(DownloadError, match="broke after 1,000 of 3,000 bytes"):
        download_file(f"{server.base}/file", tmp_path / "file", 5000)


def test_a_missing_page_is_named(server, tmp_path):
    with pytest.raises(DownloadError, match=r"refused http://127.*/file: 404 Not Found"):
        download_file(f"{server.base}/file", tmp_path / "file", 1000)


def test_an_unreachable_server_is_named(server, tmp_path):
    with Server() as closed:
        address = f"{closed.base}/file"
    with pytest.raises(DownloadError, match=r"Could not reach .* Check the network connection"):
        download_file(address, tmp_path / "file", 1000)


@pytest.mark.parametrize("address", ["http://example.org/file", "file:///etc/hostname", "ftp://example.org/file"])
def test_only_https_is_taken_from_elsewhere(address, server, tmp_path):
    with pytest.raises(DownloadError, match="not https"):
        download_file(address, tmp_path / "file", 1000)
    server.pages["/file"] = address
    with pytest.raises(DownloadError, match=r"not https|not allowed"):
        download_file(f"{server.base}/file", tmp_path / "file", 1000)


def test_redirections_on_the_same_terms_are_followed(server, tmp_path):
    server.pages = {"/file": "/other", "/other": b"page"}
    download_file(f"{server.base}/file", tmp_path / "file", 1000)
    assert (tmp_path / "file").read_bytes() == b"page"


def test_the_shipped_addresses_are_https():
    sources = [source for source, _ in download._ARCHIVES.values()]
    sources += [source for folder in download.IMAGES.values() for source in folder.values()]
    assert len(sources) == 6
    assert all(source.base.startswith("https://") for source in sources)


# Whole data sets


def letters_archive(path):
    """Return the zip file of the repository, rebuilt from the table."""
    table = pq.read_table(path)
    names = ["letter", *archives.LETTER_COLUMNS]
    lines = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    text = "".join(",".join(map(str, line)) + "\n" for line in lines)
    return zipped(**{"Index": "Index of letter-recognition", "letter-recognition.data": text})


def gas_archive(path):
    """Return the zip file of the repository, rebuilt from the table, with Windows line ends and a folder."""
    table = pq.read_table(path)
    years = table.column("year").to_numpy()
    values = np.column_stack([table.column(name).to_numpy() for name in archives.GAS_COLUMNS])
    members = {}
    for year in np.unique(years):
        lines = [
            ",".join(archives.GAS_COLUMNS),
            *(",".join(map(repr, line)) for line in values[years == year].tolist()),
        ]
        members[f"pp_gas_emission/gt_{year}.csv"] = "\r\n".join(lines) + "\r\n"
    return zipped(**members)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "file", "address", "archive"),
    [
        ("uci_letters", "letter.parquet", LETTERS, letters_archive),
        ("uci_gas", "gas_turbine.parquet", GAS, gas_archive),
    ],
)
def test_tables_are_fetched_once_and_are_the_expected_ones(data_file, request, server, key, file, address, archive):
    original = data_file(file)
    server.pages[address] = archive(original)
    cache = request.getfixturevalue("cache")
    fetch(key, base=server.base)
    assert left_in(cache) == [file]
    assert pq.read_schema(cache / file).names == pq.read_schema(original).names
    assert get(key).content_checksum() == get(key).checksum
    fetch(key, base=server.base)
    assert server.asked == [address]


def test_a_damaged_table_in_the_cache_is_fetched_again(data_file, request, server):
    server.pages[LETTERS] = letters_archive(data_file("letter.parquet"))
    cache = request.getfixturevalue("cache")
    cache.mkdir(parents=True)
    (cache / "letter.parquet").write_bytes(b"half")
    assert fetch("uci_letters", base=server.base).load()[0].shape == (18_720, 16)


def test_a_damaged_table_elsewhere_is_left_alone(cache, tmp_path, monkeypatch, server):
    monkeypatch.setenv("DPMONDRIAN_DATA", str(tmp_path))
    (tmp_path / "letter.parquet").write_bytes(b"half")
    with pytest.raises(DatasetError, match="is damaged"):
        fetch("uci_letters", base=server.base)
    assert server.asked == []


LINE = ",".join(["A"] + ["1"] * 16) + "\n"


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"no zip file", "is damaged"),
        (zipped(**{"letter-recognition.data": LINE})[:60], "is damaged"),
        (zipped(other="A"), "must hold one file letter-recognition.data, but holds 0"),
        (zipped(**{"a/letter-recognition.data": LINE, "b/letter-recognition.data": LINE}), "but holds 2"),
        (zipped(**{"letter-recognition.data": "A,1,2\n"}), "another length"),
        (zipped(**{"letter-recognition.data": LINE.replace("1", "x")}), "no numbers"),
        (zipped(**{"letter-recognition.data": bytes(33 << 20)}), "larger than 33,554,432 bytes"),
        (zipped(**{"letter-recognition.data": LINE}), "lacks the letter B"),
        (zipped(**{"letter-recognition.data": "".join(LINE.replace("A", chr(65 + i)) for i in range(26))}), "SHA-256"),
        (zipped(**{"../../letter-recognition.data": "A,1,2\n"}), "another length"),
    ],
)
def test_another_archive_is_refused_and_nothing_is_left(server, cache, archive, message):
    server.pages[LETTERS] = archive
    with pytest.raises(DatasetError, match=message):
        fetch("uci_letters", base=server.base)
    assert left_in(cache) == []


def test_a_gas_table_with_other_columns_is_refused(server, cache):
    server.pages[GAS] = zipped(**{"gt_2011.csv": "AT,AP\n1,2\n"})
    with pytest.raises(DatasetError, match=r"The file of 2011 .* other columns"):
        fetch("uci_gas", base=server.base)


def test_an_interrupted_download_leaves_nothing(server, cache):
    server.pages[LETTERS] = bytes(100)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("uci_letters", progress=interrupt, base=server.base)
    assert left_in(cache) == []


def test_images_are_fetched_once(data_file, request, server):
    pages = {f"/{name}": data_file(name).read_bytes() for name in download.IMAGES["mnist"]}
    cache = request.getfixturevalue("cache")
    server.pages = pages
    for _ in range(2):
        download.fetch_images("mnist", base=server.base)
    assert server.asked == list(pages)
    assert {f"/{path.relative_to(cache)}": path.read_bytes() for path in cache.rglob("*.gz")} == pages


def test_other_images_are_refused(server, cache):
    server.pages["/fashion/train-images-idx3-ubyte.gz"] = b"other"
    with pytest.raises(DownloadError, match="not the expected file"):
        download.fetch_images("fashion_mnist", base=server.base)
    assert left_in(cache) == []


def test_embeddings_without_torch_are_refused_before_the_download(server, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DatasetError, match="extra 'embeddings'"):
        fetch("mnist_embs", base=server.base)
    assert server.asked == []


def test_made_data_need_no_download(server, cache):
    assert fetch("blobs-100x2-3", base=server.base).load()[0].shape == (100, 2)
    assert server.asked == []
