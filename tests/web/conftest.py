"""The page as users have it: `dpm web` in a process of its own, and somebody who talks to it."""

import http.client
import re
import shutil
import signal
import subprocess
import sys
import time
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

pytest.importorskip("starlette", reason="Needs the extra 'web'.")
pytest.importorskip("uvicorn", reason="Needs the extra 'web'.")


def write_people(path, n_people=4000):
    """Write invented people of two kinds, by the ending of the path; their ages must be on no page before the release."""
    young = np.arange(n_people) % 2 == 0
    noise = np.random.default_rng(0).normal(size=(2, n_people))
    ages, visits = np.where(young, 31, 72) + np.rint(3 * noise[0]), np.where(young, 4, 15) + np.rint(noise[1])
    table = pa.table({"age": ages, "visits": visits.clip(0)})
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.csv.write_csv(table, path)


@pytest.fixture
def people():
    """Return the function that writes a table."""
    return write_people


class Server:
    """A running `dpm web`."""

    def __init__(self, folder, state, *options):
        command = [sys.executable, "-m", "dpmondrian", "web", folder, "--no-browser", "--state", state, *options]
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)
        self.folder, self.state = folder, state
        self.first = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.port = int(re.search(r":(\d+)/", self.first)[1])
        self.origin = f"http://127.0.0.1:{self.port}"
        self.token_path = self.first.removeprefix(self.origin)

    def ask(self, path, method="GET", body=None, **headers):
        """Return status, headers and text of the answer to a request that no browser has polished."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in named, skip_accept_encoding=True)
        data = b"" if body is None else body if isinstance(body, bytes) else body.encode()
        if method == "POST" and "Content-Length" not in named:
            named["Content-Length"] = str(len(data))
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return found

    def user(self):
        """Return the user who opened the page."""
        status, headers, _ = self.ask(self.token_path)
        assert status == 303
        return User(self, headers["set-cookie"].split(";")[0])

    def user_of(self, browser):
        """Return the user of a browser that opened the page."""
        cookie = next(cookie for cookie in browser.get_cookies() if cookie["name"] == f"dpm-{self.port}")
        return User(self, f"{cookie['name']}={cookie['value']}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(600)
        self.process.stdout.close()


class User:
    """Somebody with the cookie, whose requests come from the page itself."""

    def __init__(self, server, cookie):
        self.server, self.cookie = server, cookie

    def get(self, path, **headers):
        return self.server.ask(path, Cookie=self.cookie, **headers)

    def post(self, path, form=(), **headers):
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.server.origin, **headers}
        return self.server.ask(path, "POST", urlencode(dict(form)), Cookie=self.cookie, **headers)

    def drop(self, name, content, **headers):
        headers = {"Origin": self.server.origin, "Cookie": self.cookie, **headers}
        return self.server.ask(f"/drop?name={name}", "POST", content, **headers)

    def chosen(self, path, **reading):
        """Return the address of a clustering of a file."""
        status, headers, text = self.post("/choose", {"path": path, **reading})
        assert status == 303, text
        return headers["location"].removesuffix("/columns")

    def until(self, work, *states):
        """Wait until the run is in one of these states, and return it."""
        while True:
            state = re.search(r'"state":"(\w+)"', self.get(f"{work}/progress")[2])[1]
            if state in states:
                return state
            time.sleep(0.05)


@pytest.fixture
def serve(tmp_path):
    """Return a function that starts the page in a folder of this test."""
    servers = []
    (tmp_path / "tables").mkdir()

    def start(*options):
        servers.append(Server(tmp_path / "tables", tmp_path / "state", *options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.stop()


def install_axe(folder):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core comes by npm, which is not there: apt-get install npm")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4"]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=600).returncode:
        pytest.skip("axe-core comes by npm, which cannot reach its registry.")


@pytest.fixture(scope="session")
def axe(request):
    """Return a function that has axe-core look at a page and returns what is serious; skipped where npm cannot bring it.

    What npm has brought stays in pytest's cache: to ask it again takes seconds.
    """
    folder = request.config.cache.mkdir("axe-core-4")
    code = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not code.exists():
        install_axe(folder)
    text = code.read_text(encoding="utf-8")

    def serious(page):
        page.execute_script(text)
        found = page.execute_async_script("axe.run(document).then(arguments[0])")["violations"]
        return [
            (rule["id"], [node["target"] for node in rule["nodes"]][:5])
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]

    return serious
