"""Loads hostile releases with little memory to spare, and prints what became of each: run by `test_hostile_releases`.

Usage: python hostile_releases.py RELEASE MEGABYTES
"""

import copy
import json
import resource
import sys
from pathlib import Path

from dpmondrian import Release, ReleaseFileError
from dpmondrian.estimator import DPM
from dpmondrian.release.release import digest_of
from dpmondrian.show.report import render_report

MANY = 10**6


def sealed(values):
    """Return the JSON text of a release with the digest of what it holds."""
    return json.dumps(values | {"digest": digest_of({key: value for key, value in values.items() if key != "digest"})})


def changed(valid, *path_and_value):
    """Return the JSON text of a release with another value in one place."""
    *path, last, new = path_and_value
    values = copy.deepcopy(valid)
    place = values
    for key in path:
        place = place[key]
    place[last] = new
    return sealed(values)


def one_column(valid, column):
    """Return a release whose first column is another one, in the privacy statement too."""
    values = copy.deepcopy(valid)
    values["columns"][0] = values["privacy"]["bounds"][0] = column
    return sealed(values)


def many_columns(valid, n_columns):
    values = copy.deepcopy(valid)
    columns = [{"name": f"x{j}", "lower": 0.0, "upper": 1.0, "whole": False} for j in range(n_columns)]
    values["columns"] = values["privacy"]["bounds"] = columns
    return sealed(values)


def many_clusters(valid, n_clusters):
    values = copy.deepcopy(valid)
    values["clusters"] = values["clusters"][:1] * n_clusters
    return sealed(values)


def chain(valid, n_cuts):
    """Return a release whose tree is as deep as it has cuts."""
    values, n_nodes = copy.deepcopy(valid), 2 * n_cuts + 1
    inner = [node % 2 == 0 and node < n_nodes - 1 for node in range(n_nodes)]
    values["tree"] = {
        "column": [0 if cut else -1 for cut in inner],
        "threshold": [1.0 if cut else None for cut in inner],
        "left": [node + 1 if cut else -1 for node, cut in enumerate(inner)],
        "right": [node + 2 if cut else -1 for node, cut in enumerate(inner)],
        "size": [1.0] * n_nodes,
        "size_error": [1.0] * n_nodes,
        "cluster": [-1 if cut else 0 for cut in inner],
    }
    return sealed(values)


def cycle(valid):
    values = copy.deepcopy(valid)
    values["tree"]["left"] = [0] * len(values["tree"]["left"])
    values["tree"]["right"] = [0] * len(values["tree"]["right"])
    return sealed(values)


HOSTILE = {
    "nothing wrong": json.dumps,
    "50 MB of text in the unit": lambda valid: changed(valid, "privacy", "unit", "person_id", "x" * 50 * MANY),
    "50 MB of text as a centre": lambda valid: changed(valid, "clusters", 0, "centre", "1" * 50 * MANY),
    "50 MB of text as a version": lambda valid: changed(valid, "format_version", "2" * 50 * MANY),
    "100 MB": lambda valid: json.dumps(valid) + " " * 100 * MANY,
    "lists in lists in lists": lambda valid: (
        changed(valid, "parameters", 0)[:-1] + ', "more": ' + "[" * MANY + "]" * MANY + "}"
    ),
    "objects in objects": lambda _: '{"a":' * 10**5 + "1" + "}" * 10**5,
    "a million empty lists": lambda valid: changed(valid, "clusters", [[]] * MANY),
    "a million empty clusters": lambda valid: changed(valid, "clusters", [{}] * MANY),
    "36 MB of keys": lambda _: "{" + ",".join(f'"{j}":1' for j in range(3 * MANY)) + "}",
    "as many keys as are read": lambda _: "{" + ",".join(f'"{j}":1' for j in range(2**19 - 1)) + "}",
    "60 MB with one wide character": lambda _: '{"a": "' + "x" * 60 * MANY + '\U0001f600"}',
    "a million numbers in a centre": lambda valid: changed(valid, "clusters", 0, "centre", [0] * MANY),
    "a million cuts": lambda valid: changed(valid, "tree", "column", [0] * MANY),
    "a number of a million digits": lambda valid: json.dumps(valid).replace(": 1.0", ": 1" + "0" * MANY, 1),
    "a number of 4,000 digits": lambda valid: changed(valid, "privacy", "epsilon", 10**4000),
    "a long name in a thousand categories": lambda valid: one_column(
        valid, {"name": "x" * MANY, "categories": [str(j) for j in range(999)], "weight": 0.1}
    ),
    "100,000 columns": lambda valid: many_columns(valid, 10**5),
    "60,000 columns": lambda valid: many_columns(valid, 60_000),
    "100,000 categories": lambda valid: one_column(valid, {"name": "x", "categories": [str(j) for j in range(10**5)]}),
    "1,000 clusters": lambda valid: many_clusters(valid, 1000),
    "a deep tree": lambda valid: chain(valid, 20_000),
    "a tree of 12 levels": lambda valid: chain(valid, 12),
    "a tree of 13 levels": lambda valid: chain(valid, 13),
    "a tree that bites its tail": cycle,
    "a million entries": lambda valid: changed(valid, "privacy", "entries", [0] * MANY),
    "a million remarks": lambda valid: changed(valid, "privacy", "not_protected", ["x"] * MANY),
    "code": lambda valid: changed(valid, "parameters", {"__reduce__": "os.system", "py/object": "os.system"}),
}


def outcome(path):
    """Return "refused" or "used", or what went wrong."""
    try:
        release = Release.load(path)
        str(release.tree), str(release.privacy), release.to_csv(), render_report(release)
        DPM.load(path).predict([[1.0, 2.0], [100.0, 3.0]])
    except ReleaseFileError as error:
        return "refused" if len(str(error)) < 1000 else "refused at length"
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.200}"
    return "used"


def leave(n_megabytes):
    """Let this process have so much memory more than it has now, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + n_megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main():
    valid_path, n_megabytes = Path(sys.argv[1]), int(sys.argv[2])
    valid = json.loads(valid_path.read_text())
    path = valid_path.with_name("hostile.json")
    paths = {}
    for number, (name, make) in enumerate(HOSTILE.items()):
        paths[name] = path.with_name(f"hostile-{number}.json")
        paths[name].write_text(make(valid))
    outcome(valid_path)  # loads and compiles what is needed
    leave(n_megabytes)
    results = {}
    for name, path in paths.items():
        results[name] = outcome(path)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
