"""What documents and docstrings cite is there: files, tests, modules, and names of the code."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"dpmondrian": ROOT / "src" / "dpmondrian", "dpmondrian_lab": ROOT / "lab" / "src" / "dpmondrian_lab"}
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "lab/README.md", "results/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(PACKAGES["dpmondrian_lab"].glob("benchmarks/*.md")),
]
SOURCES = sorted(
    path for package in PACKAGES.values() for kind in ("py", "pyx", "pxd") for path in package.rglob(f"*.{kind}")
)

PATH = re.compile(r"`((?:tests|lab|docs|src|results)(?:/[\w.*-]+)*/?|[\w/]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
DOTTED = re.compile(r"`(dpmondrian(?:_lab)?(?:\.\w+)+)")
SPAN = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


FILES = (".py", ".md", ".csv", ".html", ".json", ".parquet")
MADE = "/output/"
"""In paths of what a program writes when it is run."""
FOREIGN = {*PACKAGES, "inferSchema", "rand", "scan_csv"}
"""Names of other packages, and of these two."""


def named(path):
    return str(path.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=named)


@cache
def words(path):
    """Return all words of a file."""
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


@cache
def words_of_package(package):
    sources = [path for path in SOURCES if path.is_relative_to(package)]
    modules = {part for path in sources for part in path.with_suffix("").relative_to(package).parts}
    return modules.union(*map(words, sources))


def text_of(document):
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def is_there(path):
    """Return whether a path is one of the repository, or of a package."""
    folders = (ROOT, ROOT / "docs", *PACKAGES.values())
    return MADE in path or any(any(folder.glob(path.rstrip("/"))) for folder in folders)


@cache
def modules_of(package):
    """Return the files of all modules, by each way to end their dotted names: `privacy.door` is also found as `door`."""
    found = {}
    for path in (path for path in SOURCES if path.is_relative_to(package)):
        parts = path.relative_to(package).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        for start in range(len(parts)):
            found.setdefault(parts[start:], []).append(path)
    return found


def files_of(parts, packages):
    """Return the files of the longest module that a dotted name begins with, and what is left of the name."""
    for end in range(len(parts), 0, -1):
        files = [path for package in packages for path in modules_of(package).get(tuple(parts[:end]), [])]
        if files:
            return files, parts[end:]
    return [], parts


def names_a_module(parts):
    """Return whether a name must begin with a module: two words in small letters that are followed by a name."""
    return len(parts) > 2 and all(re.fullmatch("[a-z_]+", part) for part in parts[:2])


def missing_names(dotted):
    """Return the parts of a name that are not in the modules it begins with; without a module, not in any.

    A name that begins with a package is looked for in that package alone, any other one in both.
    """
    first, *inner = parts = dotted.split(".")
    packages = [PACKAGES[first]] if first in PACKAGES else PACKAGES.values()
    files, rest = files_of(inner if first in PACKAGES else parts, packages)
    if not files and names_a_module(parts):
        return parts
    known = map(words, files) if files else map(words_of_package, packages)
    known = frozenset().union(*known)
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
    assert [name for name in DOTTED.findall(text_of(document)) if missing_names(name)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "privacy").glob("*.md")), ids=named)
def test_names_on_the_pages_of_privacy(page):
    """Names in code type are those of the packages, as the overview says."""
    spans = {name for name in SPAN.findall(text_of(page)) if not name.endswith(FILES)}
    assert sorted(name for name in spans - FOREIGN if missing_names(name)) == []


def stale_citations(source):
    text = source.read_text(encoding="utf-8")
    cited = re.findall(r"`((?:tests|lab|docs|results)/[\w./*-]+)`", text)
    paths = [path for path in cited if not is_there(path)]
    return paths + [name for name in DOTTED.findall(text) if missing_names(name)]


def test_what_docstrings_cite():
    found = {named(source): stale_citations(source) for source in SOURCES}
    assert {source: stale for source, stale in found.items() if stale} == {}


def test_the_map_of_the_code():
    """Folders at the left edge of the map, with a line of its own for each room or file in them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    ( *)(\S+/|\S+\.py)  ", text[text.index("    src/dpmondrian/") :], re.MULTILINE)
    folder, entries = None, []
    for indent, name in lines:
        if not indent:
            folder = ROOT / name
            entries.append(folder)
        elif len(indent) == 2:
            entries.append(folder / name)
    assert [path for path in entries if not path.exists()] == []
    for package in PACKAGES.values():
        rooms = {path.parent for path in package.glob("*/__init__.py")}
        assert sorted(named(room) for room in rooms - set(entries)) == []


def test_a_stale_name_would_be_found():
    assert not is_there("tests/privacy/test_nothing.py")
    assert missing_names("engines.memory.MemoryEngine") == ["memory", "MemoryEngine"]
    assert missing_names("no_room.persons.kept") == ["no_room", "persons", "kept"]
    assert missing_names("tables.persons.kept") == missing_names("persons.kept") == []
    assert missing_names("dpmondrian.peers.DPLloyd") == ["dpmondrian", "peers", "DPLloyd"]
    assert missing_names("dpmondrian_lab.peers.DPLloyd") == []
    assert PATH.findall("see `tests/leaks/test_models.py::test_x`") == [("tests/leaks/test_models.py", "test_x")]
