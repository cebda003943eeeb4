"""For all tests, of both distributions."""

import atexit
import builtins
import gc
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # no clock decides whether a test passes
os.environ["SOURCE_DATE_EPOCH"] = "1767225600"  # the day in releases, also of processes that tests start: 2026-01-01
if "PYTEST_XDIST_WORKER" in os.environ:  # threads of linear algebra would wait for those of other workers
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


SLOW_FOLDERS = ("tests/cluster/", "tests/fuzz/")
"""Whose tests start clusters, or try one example after the other."""


def pytest_collection_modifyitems(items):
    """Mark the tests of slow folders, which `make quick` leaves out, as slow; others have the mark themselves."""
    for item in items:
        if item.nodeid.startswith(SLOW_FOLDERS):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep all modules and thousands of tests, which stay until the end, out of every search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # at the end of a process, libraries complain about what nobody has taken away


class Folder(pytest.Package):
    """A folder whose fixtures of scope "package" end after its last test, though it is no package of Python."""

    def setup(self):
        """Import nothing."""


def pytest_collect_directory(path, parent):
    """Have clusters stop when their tests are done: idle, they would take a tenth of the processor until the end."""
    return Folder.from_parent(parent, path=path) if path == CLUSTERS else None


CLUSTERS = Path(__file__).parent / "tests" / "cluster"
TOGETHER = {
    "tests/cluster/test_spark": "Spark",
    "tests/cluster/test_dask": "Dask",
    "tests/show/report/test_browser": "Chromium",
    "tests/web/test_drive": "Chromium",
    "tests/tables/test_postgres": "Chromium",  # as test_drive needs PostgreSQL too
    "tests/cli/test_c": "dpm",  # test_checkpoint, test_cli and test_commands
    "tests/cli/test_endings": "dpm",
    "tests/cli/test_faults": "dpm",
    "tests/cli/test_plugins": "dpm",
    "tests/cli/test_wrong_use": "dpm",
}
"""Files that need something that takes long to start: one process runs all of them."""
FIRST = (
    *("Spark", "Chromium"),
    "lab/tests/peers/test_peers.py",
    *("Dask", "dpm"),
    "tests/privacy/test_neighbours.py",
    "lab/tests/peers/test_max_cover.py",
    "lab/tests/audit/test_page.py",
    "lab/tests/audit/test_replay.py",
    "tests/web/test_runs.py",
    "lab/tests/experiments/test_resume.py",
    "lab/tests/commands/test_reproduce.py",
    "lab/tests/test_workers.py",
    "tests/test_typed_user.py",
    "tests/fuzz/test_hostile_releases.py",
)
"""What takes longest; begun last, it would keep one process busy while the others have nothing left to do."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Have one process more than processors for a run of all tests: those with clusters, browsers and servers mostly wait for them."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or config.option.markexpr == "not slow":
        return None
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a file of tests to one process, so that what they share is made once; and begin with what takes longest.

    The mark `xdist_group` would keep a group together too, but pytest-xdist 3.8 overlooks it with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0]
            return next((group for start, group in TOGETHER.items() if file.startswith(start)), file)

        def _assign_work_unit(self, node):
            first = next((unit for unit in FIRST if unit in self.workqueue), None)
            if first is not None:
                self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


def pytest_make_parametrize_id(val):
    """Name byte strings by their length: archives hold the time at which they were made, and names must not."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def no_earlier_fits(monkeypatch):
    """Forget the fits of other tests, as a new process would: statements say how many there were without a budget."""
    if "dpmondrian.accounts.spending" in sys.modules:
        monkeypatch.setattr("dpmondrian.accounts.spending._UNCHARGED", set())


@pytest.fixture
def without_matplotlib(monkeypatch):
    """Make every import of matplotlib fail, as where it is not installed."""
    real_import = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a headless Chromium that goes to no network by itself."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Pages are looked at in a browser: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="Needs selenium, of the development tools.")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=Service(driver))
    session.set_script_timeout(600)
    session.set_page_load_timeout(600)
    yield session
    session.quit()


def _programs():
    """Return the folder of PostgreSQL's programs, or None: Debian keeps them out of the path."""
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")), shutil.which("postgres")]
    return next((Path(path).parent for path in reversed(found) if path is not None), None)


def _free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def _owner():
    """Return whom the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres: make postgres")
    return {"user": "postgres"}


@pytest.fixture(scope="session")
def postgres():
    """Yield the address of an empty database on a server that ends with the tests."""
    programs = _programs()
    if programs is None:
        pytest.skip("There is no PostgreSQL here: make postgres")
    owner = _owner()
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:  # short: the path of a socket is limited
        if owner:
            shutil.chown(folder, **owner)
        port, data = _free_port(), f"{folder}/data"

        def run(program, *arguments):
            command = [str(programs / program), "-D", data, *arguments]
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **owner)

        run("initdb", "--auth=trust", "--username=tester", "--encoding=UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-F -h 127.0.0.1 -p {port} -k {folder}", "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
