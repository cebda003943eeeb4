"""Running ``dpm`` in this process and in one of its own, and small files of invented people."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from dpmondrian.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def dpm(capsys, monkeypatch):
    """Return a function that runs ``dpm`` with arguments in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Done(code, told.out, told.err)

    return run


LOADED = """
import json, os, socket, sys, threading, traceback
import pyarrow.csv, pyarrow.parquet
import dpmondrian.accounts, dpmondrian.cli.commands, dpmondrian.estimator, dpmondrian.show.report

def load():
    dpmondrian.estimator.DPM(bounds=(0, 1)).fit([[0.5], [0.25]] * 2000)

# In a thread that ends: a fork does not take any others along.
loading = threading.Thread(target=load)
loading.start()
loading.join()

def become(order, streams):
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream, number)
    os.environ.update(order["environment"])
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdout, sys.stderr = (open(number, "w", encoding=encoding) for number in (1, 2))
    sys.argv = order["arguments"]
    try:
        exec(order["code"], {"__name__": "__main__"})
    except SystemExit as leaving:
        return leaving.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

orders = socket.socket(fileno=int(sys.argv[1]))
while True:
    order, streams, *_ = socket.recv_fds(orders, 2**16, 2)
    if not order:
        break
    process = os.fork()
    if process == 0:
        orders.close()
        code = become(json.loads(order), streams)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(code)
    for stream in streams:
        os.close(stream)
    orders.send(str(process).encode())
    orders.send(str(os.waitpid(process, 0)[1]).encode())
"""

MAIN = "from dpmondrian.cli.main import main; main()"


class Loaded:
    """A Python that has loaded everything, and forks for every program that it runs: a process each, but loaded once."""

    def __init__(self):
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-c", LOADED, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(self, program, arguments, out, err, environment):
        """Return the id of a process that runs a program."""
        order = {"code": program, "arguments": ["dpm", *map(str, arguments)], "environment": environment or {}}
        socket.send_fds(self._orders, [json.dumps(order).encode()], [out, err])
        return int(self._orders.recv(100))

    def code(self):
        """Wait until the process has ended, and return its exit code."""
        return os.waitstatus_to_exitcode(int(self._orders.recv(100)))

    def close(self):
        self._orders.close()
        self._process.wait()


@pytest.fixture(scope="session")
def loaded():
    """Return a Python that has loaded everything."""
    python = Loaded()
    yield python
    python.close()


@pytest.fixture
def dpm_process(loaded):
    """Return a function that runs ``dpm``, or a program, with arguments in a process of its own.

    `out` is a handle for its standard output, else that is caught; `act` is called with the id of the process when it has
    printed a first line.
    """

    def run(*arguments, program=MAIN, out=None, act=None, environment=None):
        told, tells = os.pipe()
        printed, prints = os.pipe() if out is None else (None, out)
        process = loaded.start(program, arguments, prints, tells, environment)
        os.close(tells)
        first = ""
        if out is None:
            os.close(prints)
            with open(printed, encoding="utf-8") as lines:
                if act is not None:
                    first = lines.readline()
                    act(process)
                first += lines.read()
        with open(told, encoding="utf-8") as lines:
            err = lines.read()
        return Done(loaded.code(), first, err)

    return run


CANARY = "987654.321"


def written(folder):
    """Return the names of all files and folders, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def refused(tmp_path, dpm, monkeypatch):
    """Return a function that runs a command, which must fail in one sentence and leave nothing behind."""
    monkeypatch.chdir(tmp_path)

    def run(code, fragment, *arguments):
        before = written(tmp_path)
        done = dpm(*arguments)
        assert done.code == code, done
        assert done.out == ""
        assert fragment in " ".join(done.err.replace("│", " ").split())
        assert CANARY not in done.err
        assert "CANARY" not in done.err
        assert written(tmp_path) == before
        return done

    return run


def people_lines(n_rows=3000, seed=0):
    """Return the lines of a CSV file about two kinds of people."""
    generator = np.random.default_rng(seed)
    kind = generator.integers(0, 2, n_rows)
    age = np.where(kind, 30, 70) + generator.normal(0, 3, n_rows)
    bmi = np.where(kind, 22, 40) + generator.normal(0, 2, n_rows)
    plan = np.array(["basic", "premium", "gold"])[generator.integers(0, 3, n_rows)]
    return [f"P{number // 2},{a:.3f},{b:.3f},{p}" for number, (a, b, p) in enumerate(zip(age, bmi, plan, strict=True))]


HEADER = "person,age,bmi,plan"
BOUNDS = ["--bounds", "age=0:120", "--bounds", "bmi=10:60"]


@pytest.fixture
def people(tmp_path):
    """Return a CSV file about people."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join([HEADER, *people_lines()]) + "\n")
    return path
