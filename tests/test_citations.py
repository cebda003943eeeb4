"""What documents and docstrings cite is there: files, tests, modules, and names of the code."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dpmondrian"
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCES = sorted(PACKAGE.rglob("*.py"))

PATH = re.compile(r"`((?:tests|docs|src|results|benchmarks|examples)(?:/[\w.*-]+)*/?|[\w/]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
DOTTED = re.compile(r"`(dpmondrian(?:\.\w+)+)")
SPAN = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


FILES = (".py", ".md", ".csv", ".html", ".json", ".parquet")
FOREIGN = {"dpmondrian", "inferSchema", "rand", "scan_csv"}
"""Names of other packages, and of this one."""


def named(path):
    return str(path.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=named)


@cache
def words(path):
    """Return all words of a file."""
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


@cache
def words_of_package():
    modules = {part for path in SOURCES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    return modules.union(*map(words, SOURCES))


def text_of(document):
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def is_there(path):
    """Return whether a path is one of the repository, or of the package."""
    return any(found for folder in (ROOT, PACKAGE, ROOT / "docs") for found in folder.glob(path.rstrip("/")))


def module_of(parts):
    """Return the file of the longest module that a dotted name begins with, and what is left of the name."""
    for end in range(len(parts), 0, -1):
        stem = PACKAGE.joinpath(*parts[:end])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.exists():
                return path, parts[end:]
    return None, parts


def missing_names(dotted):
    """Return the parts of a dotted name that are not in the module it begins with; without a module, not in the package."""
    module, rest = module_of(dotted)
    known = words_of_package() if module is None else words(module)
    return [part for part in rest if part not in known]


@every_document
def test_paths_in_documents(document):
    text = text_of(document)
    assert [path for path, _ in PATH.findall(text) if not is_there(path)] == []
    tests = [(path, test) for path, test in PATH.findall(text) if test]
    assert [test for path, test in tests if test not in words(ROOT / path)] == []


@every_document
def test_links_in_documents(document):
    assert [link for link in LINK.findall(text_of(document)) if not (document.parent / link).exists()] == []


@every_document
def test_modules_in_documents(document):
    dotted = [name.split(".")[1:] for name in DOTTED.findall(text_of(document))]
    assert [name for name in dotted if missing_names(name)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "privacy").glob("*.md")), ids=named)
def test_names_on_the_pages_of_privacy(page):
    """Names in code type are those of the package, as the overview says."""
    spans = {name for name in SPAN.findall(text_of(page)) if not name.endswith(FILES)}
    own = {name.removeprefix("dpmondrian.") for name in spans - FOREIGN}
    assert sorted(name for name in own if missing_names(name.split("."))) == []


@pytest.mark.parametrize("source", SOURCES, ids=named)
def test_what_docstrings_cite(source):
    text = source.read_text(encoding="utf-8")
    cited = re.findall(r"`((?:tests|docs|results|benchmarks)/[\w./*-]+)`", text)
    assert [path for path in cited if not is_there(path)] == []
    dotted = [name.split(".")[1:] for name in DOTTED.findall(text)]
    assert [name for name in dotted if missing_names(name)] == []


def test_the_map_of_the_code():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    entries = re.findall(r"^      (\S+)  ", text[text.index("    src/dpmondrian/") :], re.MULTILINE)
    assert len(entries) > 20
    assert [name for name in entries if not (PACKAGE / name).exists()] == []


def test_a_stale_name_would_be_found():
    assert not is_there("tests/privacy/test_nothing.py")
    assert missing_names(["engines", "memory", "MemoryEngine"]) == ["memory", "MemoryEngine"]
    assert missing_names(["persons", "kept"]) == []
    assert PATH.findall("see `tests/leaks/test_models.py::test_x`") == [("tests/leaks/test_models.py", "test_x")]
