"""Checkpoint files: what was kept is found again as it was, and whatever else is wrong with a file is refused."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.exceptions import CheckpointError, ParameterError

FACTS = {"epsilon": 1.0, "bounds": [["x0", 0.0, 100.0]], "budget": False}
FIRST, SECOND = np.array([31, -7], dtype=np.int64), np.array([[2**62, -(2**63)], [0, 5]], dtype=np.int64)
SHA = "ab" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


def begin(path, facts=FACTS, *, finished=False):
    """Write a run of two draws, and return its id."""
    with Checkpoint(path).journal(facts) as journal:
        journal.begin()
        journal.keep("count", 0, 0.5, FIRST)
        journal.keep("coarse sums", None, 0.5, SECOND)
        if finished:
            journal.finish(SHA)
        return journal.run


def names_beside(path):
    return sorted(name for name in os.listdir(path.parent) if name not in (path.name, f"{path.name}.lock"))


def test_what_is_kept_is_found_again(path):
    run = begin(path)
    with Checkpoint(str(path)).journal(FACTS) as journal:
        assert (journal.run, journal.n_kept, journal.release, journal.path) == (run, 2, None, path)
        np.testing.assert_array_equal(journal.recall("count", 0, 0.5, (2,)), FIRST)
        np.testing.assert_array_equal(journal.recall("coarse sums", None, 0.5, (2, 2)), SECOND)
        assert journal.recall("radius", 1, 0.5, (1,)) is None
        journal.keep("radius", 1, 0.5, np.array([3]))
        journal.finish(SHA)
    state = Checkpoint(path).read()
    assert [(draw.name, draw.level) for draw in state.draws] == [("count", 0), ("coarse sums", None), ("radius", 1)]
    assert (state.run, state.facts, state.release) == (run, FACTS, SHA)


def test_every_line_is_json_and_owned(path):
    begin(path, finished=True)
    header, first, second, end = map(json.loads, path.read_text().splitlines())
    assert (header["format"], header["format_version"], header["facts"]) == ("dpmondrian checkpoint", 3, FACTS)
    assert (first["draw"], first["level"], first["values"]) == ("count", 0, FIRST.tolist())
    assert second["shape"] == [2, 2]
    assert end["finished"] == SHA
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_beside(path) == []


def test_no_file_is_made_before_the_first_draw(path):
    with Checkpoint(path).journal(FACTS):
        pass
    assert not path.exists()
    assert Checkpoint(path).read() is None


def test_runs_have_different_ids(path, tmp_path):
    assert begin(path) != begin(tmp_path / "other.ckpt")


def test_a_finished_run_makes_no_more_draws(path):
    begin(path, finished=True)
    before = path.read_bytes()
    with Checkpoint(path).journal(FACTS) as journal:
        assert journal.release == SHA
        journal.recall("count", 0, 0.5, (2,))
        journal.recall("coarse sums", None, 0.5, (2, 2))
        with pytest.raises(CheckpointError, match="different draws"):
            journal.recall("radius", 1, 0.5, (1,))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "asked",
    [
        ("count", 1, 0.5, (2,)),
        ("counts", 0, 0.5, (2,)),
        ("count", 0, 0.5, (1, 2)),
        ("count", None, 0.5, (2,)),
        ("count", 0, 0.501, (2,)),
    ],
)
def test_another_draw_than_the_kept_one_is_refused(path, asked):
    begin(path)
    with Checkpoint(path).journal(FACTS) as journal, pytest.raises(CheckpointError, match="contains different draws"):
        journal.recall(*asked)


def test_a_run_that_ends_before_its_kept_draws_is_refused(path):
    begin(path)
    with Checkpoint(path).journal(FACTS) as journal:
        journal.recall("count", 0, 0.5, (2,))
        with pytest.raises(CheckpointError, match="contains different draws"):
            journal.finish(SHA)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({**FACTS, "epsilon": 2.0}, "another run: epsilon differs"),
        ({**FACTS, "bounds": [["x0", 0.0, 101.0]], "budget": True}, "another run: bounds, budget differ"),
        ({**FACTS, "new": None}, "new differs"),
        ({"epsilon": 1.0, "bounds": FACTS["bounds"]}, "budget differs"),
    ],
)
def test_another_run_is_refused_and_the_file_left_alone(path, facts, words):
    begin(path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=words) as caught, Checkpoint(path).journal(facts):
        pytest.fail("the run must not begin")
    assert "101" not in str(caught.value)
    assert path.read_bytes() == before


def test_tuples_and_lists_are_the_same_facts(path):
    begin(path, {"columns": (1, 2)})
    with Checkpoint(path).journal({"columns": [1, 2]}) as journal:
        assert journal.n_kept == 2


# --- damage


@pytest.mark.slow
def test_the_rest_of_a_line_is_dropped(path, monkeypatch):
    """Whatever a kill left of the last line, the whole lines before are kept and the run goes on."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    begin(path)
    content = path.read_bytes()
    header, first, _ = (part + b"\n" for part in content.split(b"\n"))
    for n_bytes in range(len(header), len(content)):
        path.write_bytes(content[:n_bytes])
        n_kept = 1 if n_bytes >= len(header + first) - 1 else 0
        assert len(Checkpoint(path).read().draws) == n_kept
        with Checkpoint(path).journal(FACTS) as journal:
            assert journal.n_kept == n_kept
            assert path.read_bytes() == content[:n_bytes], "nothing is changed before the run begins"
            journal.begin()
            if n_kept == 0:
                journal.keep("count", 0, 0.5, FIRST)
            journal.keep("coarse sums", None, 0.5, SECOND)
        assert path.read_bytes() == content


@pytest.mark.slow
def test_any_changed_byte_is_found(path):
    begin(path, finished=True)
    content = path.read_bytes()
    for position in range(len(content)):
        for change in (1, 32):
            changed = bytearray(content)
            changed[position] ^= change
            path.write_bytes(changed)
            with pytest.raises(CheckpointError, match="is damaged or not a checkpoint"):
                Checkpoint(path).read()


def sealed_lines(path):
    return path.read_bytes().split(b"\n")


@pytest.mark.parametrize("order", [(0, 2), (0, 2, 1), (0, 1, 1), (1, 2), (0, 0, 1, 2), (0, 1, 2, 2)])
def test_missing_doubled_and_moved_lines_are_found(path, order):
    begin(path)
    lines = sealed_lines(path)
    path.write_bytes(b"\n".join(lines[number] for number in order))
    with pytest.raises(CheckpointError, match="lines are missing"):
        Checkpoint(path).read()


def test_lines_of_another_run_are_found(path, tmp_path):
    begin(path)
    begin(tmp_path / "other.ckpt")
    path.write_bytes(b"\n".join([sealed_lines(path)[0], *sealed_lines(tmp_path / "other.ckpt")[1:]]))
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint(path).read()


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"{}", b"\0" * 100, b"\xff" * 200, b"[" * 100_000, b"a,b\n1,2\n", b'{"format": "x", "check": "'],
)  # fmt: skip
def test_other_files_are_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged or not a checkpoint") as caught:
        Checkpoint(path).read()
    assert len(str(caught.value)) < 500
    with pytest.raises(CheckpointError), Checkpoint(path).journal(FACTS):
        pytest.fail("the run must not begin")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "garbage", [b"\n\0\0\0", b'\n{"draw": \xff', b'\n{"draw"}', b"\n\n", b'\n{"draw": "x", "check": "no']
)
def test_what_no_kill_leaves_is_damage(path, garbage):
    begin(path)
    with path.open("ab") as file:
        file.write(garbage)
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint(path).read()


def test_links_and_folders_are_refused(path, tmp_path):
    begin(path)
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("link", "links"), ("dangling", "links"), ("folder", "EISDIR"), ("pipe", "regular file")):
        with pytest.raises(CheckpointError, match=words), Checkpoint(tmp_path / name).journal(FACTS):
            pytest.fail("the run must not begin")
    os.link(path, tmp_path / "second name")
    with pytest.raises(CheckpointError, match="several hard links"):
        Checkpoint(path).read()
    with (
        pytest.raises(CheckpointError, match="folder that does not exist"),
        Checkpoint(tmp_path / "no" / "x").journal({}),
    ):
        pytest.fail("the run must not begin")
    assert not (tmp_path / "nowhere").exists()


def test_a_link_that_comes_meanwhile_is_not_followed(path, tmp_path):
    with Checkpoint(path).journal(FACTS) as journal:
        path.symlink_to(tmp_path / "nowhere")
        with pytest.raises(CheckpointError, match="someone else"):
            journal.begin()
    assert not (tmp_path / "nowhere").exists()
    assert names_beside(path) == []


def test_wrong_parameters():
    for wrong in (5, b"run.ckpt", ["run.ckpt"], True):
        with pytest.raises(ParameterError, match="'checkpoint' parameter"):
            Checkpoint(wrong)
    assert repr(Checkpoint("run.ckpt")) == "Checkpoint('run.ckpt')"


# --- one process at a time, and the disk


@pytest.mark.slow
def test_a_second_run_on_the_same_file_is_refused_at_once(path):
    with Checkpoint(path).journal(FACTS):
        with pytest.raises(CheckpointError, match="is in use"), Checkpoint(path).journal(FACTS):
            pytest.fail("the run must not begin")
        program = (
            "import sys\nfrom dpmondrian.accounts.checkpoint import Checkpoint\n"
            "try:\n    Checkpoint(sys.argv[1]).journal({}).__enter__()\nexcept Exception as error:\n    print(error)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, path], capture_output=True, text=True, timeout=600, check=True
        )
        assert "is in use" in done.stdout
    begin(path)


def test_the_file_is_free_after_an_error(path):
    with pytest.raises(ZeroDivisionError), Checkpoint(path).journal(FACTS):
        _ = 1 / 0
    begin(path)


def test_values_are_on_the_disk_before_they_are_handed_over(path, monkeypatch):
    calls = []
    real_fsync, real_write = os.fsync, os.write

    def fsync(handle):
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_fsync(handle)

    def write(handle, content):
        calls.append("write")
        return real_write(handle, content)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "write", write)
    with Checkpoint(path).journal(FACTS) as journal:
        journal.begin()
        assert calls[-2:] == ["file", "folder"]
        calls.clear()
        journal.keep("count", 0, 0.5, FIRST)
        assert calls == ["write", "file"]
    calls.clear()
    with Checkpoint(path).journal(FACTS) as journal:
        journal.recall("count", 0, 0.5, (2,))
        assert calls == ["file", "folder"], "the last life may have been killed before it had waited"


def test_a_write_in_pieces_is_whole_in_the_end(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, bytes(content[:7])))
    begin(path)
    assert len(Checkpoint(path).read().draws) == 2


@pytest.mark.parametrize("n_bytes", [0, 50])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_an_error_of_the_disk_stops_the_run_and_it_can_be_continued(path, monkeypatch, call, n_bytes):
    real = os.write

    def failing(handle, *content):
        if content:
            real(handle, bytes(content[0][:n_bytes]))
        raise OSError(28, "No space left on device")

    with Checkpoint(path).journal(FACTS) as journal:
        journal.begin()
        journal.keep("count", 0, 0.5, FIRST)
        monkeypatch.setattr(os, call, failing)
        with pytest.raises(CheckpointError, match=r"discarded before anyone saw it.*ENOSPC"):
            journal.keep("coarse sums", None, 0.5, SECOND)
        monkeypatch.undo()
        with pytest.raises(AssertionError):  # nothing may follow half a line
            journal.keep("coarse sums", None, 0.5, SECOND)
    assert b"coarse" not in path.read_bytes(), "of what is drawn again, nothing is left to be seen"
    with Checkpoint(path).journal(FACTS) as journal:
        assert journal.n_kept == 1


def test_a_file_that_cannot_be_made_is_told_before_anything_is_drawn(path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with Checkpoint(path).journal(FACTS) as journal:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"nothing was drawn \(ENOSPC\)"):
            journal.begin()
    assert not path.exists()
    assert names_beside(path) == []


def test_the_length_of_a_line_does_not_depend_on_what_was_drawn(path, tmp_path):
    """Otherwise a disk that is nearly full would let only short values through, and those would have another law."""
    lengths = set()
    for number, value in enumerate((0, -1, 7, 10**6, 2**63 - 1, -(2**63))):
        file = tmp_path / f"{number}.ckpt"
        with Checkpoint(file).journal(FACTS) as journal:
            journal.begin()
            journal.keep("count", 0, 0.5, np.array([value, 0]))
        lengths.add(len(file.read_bytes()))
    assert len(lengths) == 1
