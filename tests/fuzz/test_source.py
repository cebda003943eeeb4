"""Nothing that is read can be run: the source uses no reader that executes what it reads. Temporary files are their owner's."""

import ast
import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

import dpmondrian
from dpmondrian import Budget
from dpmondrian.cli.main import main

ROOT = Path(dpmondrian.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

DANGEROUS_MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
    "jsonpickle",
    "code",
}
DANGEROUS_NAMES = {"eval", "exec", "compile", "__import__", "breakpoint"}
DANGEROUS_ATTRIBUTES = {"read_pickle", "unpickle"}
DANGEROUS_CALLS_OF_OS = {"system", "popen"}


def dangers(source):
    """Return what of a source could execute what it reads."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found |= {name for name in names if name.split(".")[0] in DANGEROUS_MODULES}
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in DANGEROUS_NAMES:
                found.add(called.id)
            if isinstance(called, ast.Attribute):
                of_os = isinstance(called.value, ast.Name) and called.value.id == "os"
                found |= {called.attr} & (DANGEROUS_ATTRIBUTES | (DANGEROUS_CALLS_OF_OS if of_os else set()))
            found |= {f"{word.arg}=" for word in node.keywords if is_dangerous_keyword(word, called)}
    return found


def is_dangerous_keyword(word, called):
    """Return whether NumPy or torch is told to unpickle, or a command is run by a shell."""
    is_false = isinstance(word.value, ast.Constant) and word.value.value is False
    return word.arg in ("allow_pickle", "shell") and not is_false


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "def f():\n    import yaml.loader",
        "import marshal as m",
        "eval('1')",
        "exec(text)",
        "numpy.load(path, allow_pickle=True)",
        "numpy.load(path, allow_pickle=flag)",
        "pandas.read_pickle(path)",
        "os.system('x')",
        "subprocess.run(x, shell=True)",
    ],
)
def test_dangers_are_seen(source):
    assert dangers(source)


@pytest.mark.parametrize(
    "source", ["numpy.load(path, allow_pickle=False)", "json.loads(text)", "model.eval()", "re.compile(x)"]
)
def test_harmless_code_is_let_pass(source):
    assert not dangers(source)


def test_nothing_that_is_read_is_executed():
    found = {str(path.relative_to(ROOT)): dangers(path.read_text(encoding="utf-8")) for path in MODULES}
    assert len(found) > 100
    assert {name: words for name, words in found.items() if words} == {}


def loads_of(library, source):
    """Return the calls of ``library.load`` in a source."""
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "load"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == library
    ]


def test_weights_are_loaded_without_objects():
    """NumPy's ``load`` refuses objects unless told otherwise; torch's must be told."""
    calls = [node for path in MODULES for node in loads_of("torch", path.read_text(encoding="utf-8"))]
    for node in calls:
        assert any(word.arg == "weights_only" and word.value.value is True for word in node.keywords)


@pytest.fixture
def made_files(monkeypatch):
    """Note path and permissions of every file and folder at the moment at which it is made."""
    made, real_open, real_mkdir = [], os.open, os.mkdir

    def noting_open(path, flags, mode=0o777, **keywords):
        handle = real_open(path, flags, mode, **keywords)
        if flags & os.O_CREAT and not os.get_inheritable(handle):
            made.append((str(path), stat.S_IMODE(os.fstat(handle).st_mode)))
        return handle

    def noting_mkdir(path, mode=0o777, **keywords):
        real_mkdir(path, mode, **keywords)
        made.append((str(path), stat.S_IMODE(os.stat(path).st_mode)))

    monkeypatch.setattr(os, "open", noting_open)
    monkeypatch.setattr(os, "mkdir", noting_mkdir)
    old_mask = os.umask(0)  # the system takes no permissions away: what is asked for is what is given
    yield made
    os.umask(old_mask)


def test_temporary_files_are_their_owners(people, tmp_path, made_files, monkeypatch):
    """Whatever holds rows, labels, the budget, or results that are not whole yet."""
    data, out = tmp_path / "people.csv", tmp_path / "out"
    people.to_csv(data, index=False)
    Budget.create(tmp_path / "budget.json", 3.0, 1e-5)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    common = ["--bounds", "age=0:120", "--quiet"]
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "dpm",
            "cluster",
            str(data),
            *common,
            "--out",
            str(out),
            "--labels",
            "--budget",
            str(tmp_path / "budget.json"),
        ],
    )
    run_to_the_end()
    monkeypatch.setattr(
        sys,
        "argv",
        ["dpm", "predict", str(out / "release.json"), str(data), "--out", str(tmp_path / "labels.csv"), "--quiet"],
    )
    run_to_the_end()
    inside = [(path, mode) for path, mode in made_files if ".part" in path or ".lock" in path or "budget" in path]
    assert len(inside) >= 5
    # Files within a hidden folder are protected by that folder.
    exposed = [
        (path, oct(mode))
        for path, mode in inside
        if mode & 0o077 and not any(part.endswith(".part") for part in Path(path).parts[:-1])
    ]
    assert exposed == []
    for name in ("budget.json", "budget.json.lock", "labels.csv", "out"):
        assert not stat.S_IMODE((tmp_path / name).stat().st_mode) & 0o077, name
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def run_to_the_end():
    with pytest.raises(SystemExit) as leaving:
        main()
    assert not leaving.value.code
