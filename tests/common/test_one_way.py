"""One way to write files, one pool of processes, threads in one module: held by looking at the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@cache
def modules() -> dict[str, ast.AST]:
    """Return the syntax trees of all modules by their paths."""
    paths = [path for folder in ("src", "lab/src") for path in sorted((ROOT / folder).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


WRITERS = {
    "src/dpmondrian/common/whole_files.py": "this is the one way",
    "src/dpmondrian/accounts/checkpoint.py": "draws are appended to the file that is held",
    "src/dpmondrian/cli/stopping.py": "output that nobody takes goes to the null device",
    "src/dpmondrian/cli/progress.py": "how far a run is, for the page, which reads it again and again",
    "src/dpmondrian/web/jobs.py": "what a command prints, and its lock",
    "src/dpmondrian/web/steps/file.py": "a dropped file arrives piece by piece",
    "src/dpmondrian/engines/store.py": "codes that do not fit into memory go to a temporary file without a name",
    "lab/src/dpmondrian_lab/common/growing_files.py": "rows of experiments are appended one by one",
    "lab/src/dpmondrian_lab/datasets/transfer.py": "downloads come into a folder beside the cache, and get their names when they are whole",
    "lab/src/dpmondrian_lab/datasets/references.py": "so do reference centres",
    "lab/src/dpmondrian_lab/peers/synthetic/estimator.py": "codes for another Python, in a temporary folder",
    "lab/src/dpmondrian_lab/peers/synthetic/generate.py": "and what that one answers",
    "lab/src/dpmondrian_lab/benchmarks/speed.py": "rows for another process, in a temporary folder",
    "lab/src/dpmondrian_lab/benchmarks/scale/clusters.py": "settings of Spark, in a temporary folder",
    "lab/src/dpmondrian_lab/benchmarks/scale/memory.py": "the system resets a peak when its file is written to",
}
"""Modules that open files for writing, and why."""

_METHODS = {"write_text", "write_bytes", "savez", "savez_compressed", "mkstemp", "TemporaryFile", "NamedTemporaryFile"}
_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT"}


def writes(call: ast.Call) -> bool:
    """Return whether a call opens a file for writing."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _METHODS:
        return True
    if name == "save":  # numpy's takes a path or a file, and an array
        return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "np" and _is_path(call)
    if name not in ("open", "_open"):
        return False
    if any(isinstance(part, ast.Attribute) and part.attr in _FLAGS for part in ast.walk(call)):
        return True
    if name != "open":
        return False
    is_method = isinstance(call.func, ast.Attribute)
    modes = [*call.args[0 if is_method else 1 :], *(k.value for k in call.keywords if k.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(set(text) <= set("rwxabt+") and set(text) & set("wxa+") for text in texts)


def _is_path(call: ast.Call) -> bool:
    return getattr(call.args[0], "id", "") != "content"


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


@cache
def imported(tree: ast.AST) -> set[str]:
    """Return the modules and names that a module imports, with their dots."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_files_are_written_in_one_way():
    assert {name for name, tree in modules().items() if any(map(writes, calls(tree)))} == set(WRITERS)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open(path, 'w')", True),
        ("path.open('xb')", True),
        ("path.open(mode='a')", True),
        ("path.write_text('a')", True),
        ("os.open(path, os.O_RDWR | os.O_APPEND)", True),
        ("np.save(path, rows)", True),
        ("np.save(content, rows)", False),
        ("open(path)", False),
        ("path.open('rb')", False),
        ("os.open(path, os.O_RDONLY)", False),
        ("opener.open(address)", False),
    ],
)
def test_writing_is_recognised(code, expected):
    assert writes(calls(ast.parse(code))[0]) is expected


def test_processes_are_started_by_one_pool():
    starting = ("multiprocessing", "concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process", "joblib")
    found = {name for name, tree in modules().items() if any(part in imported(tree) for part in starting)}
    assert found == {"lab/src/dpmondrian_lab/workers.py"}


def test_rows_are_shared_out_to_threads_by_one_module():
    pools = ("concurrent.futures", "concurrent.futures.ThreadPoolExecutor", "_thread")
    found = {name for name, tree in modules().items() if any(part in imported(tree) for part in pools)}
    assert found == {"src/dpmondrian/common/threads.py"}


def test_the_core_does_not_know_the_laboratory():
    core = {name: tree for name, tree in modules().items() if name.startswith("src/")}
    assert not [
        name for name, tree in core.items() if any(part.startswith("dpmondrian_lab") for part in imported(tree))
    ]
