"""Folders and files of results: whole or not at all, and a full disk is found before anything is spent."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.common.interrupts import StoppedError, Work
from dpmondrian.common.whole_files import free_reserve, new_folder, new_private_file, put_bytes, write_file
from dpmondrian.exceptions import DPMondrianError, OutputError

SMALL = 4096


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


# --- folders


def test_a_folder_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "results"
    with new_folder(path, SMALL) as folder:
        assert not path.exists()
        assert folder.parent == tmp_path
        assert folder.name.startswith(".")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "inner").mkdir()
        (folder / "inner" / "a.txt").write_text("a")
        write_file(folder / "b.txt", "b")
    assert names_in(tmp_path) == ["results"]
    assert names_in(path) == ["b.txt", "inner"]
    assert (path / "inner" / "a.txt").read_text() == "a"


def test_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    real_fsync, real_rename = os.fsync, os.rename

    def fsync(handle):
        calls.append(os.fstat(handle).st_ino)
        real_fsync(handle)

    def rename(source, target):
        calls.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    path = tmp_path / "results"
    with new_folder(path, SMALL) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a").write_text("a")
    before, after = calls[: calls.index("rename")], calls[calls.index("rename") + 1 :]
    assert {entry.stat().st_ino for entry in (path, path / "inner", path / "inner" / "a")} <= set(before)
    assert after == [tmp_path.stat().st_ino]


def test_an_empty_folder_is_taken(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    with new_folder(tmp_path / "results", SMALL) as folder:
        write_file(folder / "a", "a")
    assert names_in(tmp_path / "results") == ["a"]
    monkeypatch.chdir(tmp_path)
    with new_folder("relative", SMALL) as folder:
        write_file(folder / "a", "a")
    assert names_in(tmp_path) == ["relative", "results"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_nothing_is_left_when_the_block_fails(tmp_path, error):
    def fail():
        with new_folder(tmp_path / "results", SMALL) as folder:
            write_file(folder / "a", "a")
            raise error

    with pytest.raises(error):
        fail()
    assert names_in(tmp_path) == []


def test_what_exists_is_not_touched(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("a")
    (tmp_path / "file").write_text("f")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = names_in(tmp_path)
    for name, words in (
        ("full", "not empty"),
        ("file", "exists"),
        ("link", "exists"),
        ("none/results", "does not exist"),
    ):
        with pytest.raises(OutputError, match=words), new_folder(tmp_path / name, SMALL):
            pytest.fail("the block must not run")
    assert names_in(tmp_path) == before
    assert names_in(tmp_path / "full") == ["a"]


def test_what_came_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "results"

    def write():
        with new_folder(path, SMALL) as folder:
            write_file(folder / "a", "ours")
            path.mkdir()
            (path / "a").write_text("theirs")

    with pytest.raises(OutputError, match="in the meantime") as caught:
        write()
    assert (path / "a").read_text() == "theirs"
    kept, theirs = names_in(tmp_path)
    assert theirs == "results"
    assert f"kept in {str(tmp_path / kept)!r}" in str(caught.value)
    assert names_in(tmp_path / kept) == ["a"]
    assert (tmp_path / kept / "a").read_text() == "ours"
    path.rename(tmp_path / "away")
    with new_folder(path, SMALL):
        pass
    assert kept in names_in(tmp_path), "a folder that was paid for is not removed by a later run"


def test_a_folder_takes_its_place_before_a_stop_or_not_at_all(tmp_path, monkeypatch):
    work, rename = Work(), os.rename

    def stop_and_rename(*places):
        work.stop()
        rename(*places)

    def write(name, stop_early):
        with new_folder(tmp_path / name, SMALL) as folder:
            write_file(folder / "a", "ours")
            assert work.unfinished == {folder}
            if stop_early:
                work.stop()
        return work.results

    monkeypatch.setattr(os, "rename", stop_and_rename)
    assert work.do(lambda: write("results", False)) == [tmp_path / "results"]
    assert names_in(tmp_path) == ["results"]
    work, seen, remove = Work(), [], shutil.rmtree

    def look_and_remove(folder, **options):
        seen.append(folder in work.unfinished)
        remove(folder, **options)

    monkeypatch.setattr(shutil, "rmtree", look_and_remove)
    with pytest.raises(StoppedError):
        work.do(lambda: write("others", True))
    assert seen == [True], "known as unfinished until it is gone: the process may end in the midst of it"
    assert names_in(tmp_path) == ["results"]
    assert (work.results, work.unfinished) == ([], set())


LEAVING = """
import os, signal, sys
from dpmondrian.common.whole_files import new_folder, write_file
with new_folder(sys.argv[1], 1000) as folder:
    if sys.argv[2] == "written":
        write_file(folder / "a", "paid for")
    if sys.argv[2] == "held":
        print("held", flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "n_left"), [("computing", 0), ("written", 1)])
def test_a_later_run_removes_what_killed_ones_left(tmp_path, when, n_left):
    subprocess.run([sys.executable, "-c", LEAVING, tmp_path / "results", when], check=False, timeout=600)
    assert len(names_in(tmp_path)) == 1
    with new_folder(tmp_path / "other", SMALL):
        assert len(names_in(tmp_path)) == 2, "only folders of the same name are removed"
    with new_folder(tmp_path / "results", SMALL):
        pass
    assert len(names_in(tmp_path)) == 2 + n_left


def test_a_folder_that_somebody_holds_stays(tmp_path):
    command = [sys.executable, "-c", LEAVING, str(tmp_path / "results"), "held"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "held\n"
        [held] = names_in(tmp_path)
        with new_folder(tmp_path / "results", SMALL):
            pass
        assert names_in(tmp_path) == [held, "results"]


def test_errors_are_errors_of_the_system_too():
    assert issubclass(OutputError, DPMondrianError)
    assert issubclass(OutputError, OSError)


def test_folders_that_nobody_may_write():
    """The folder of processes takes no entries, not even from root."""
    with pytest.raises(OutputError, match="cannot be written"), new_folder("/proc/results", SMALL):
        pytest.fail("the block must not run")
    with pytest.raises(OutputError, match="cannot be written"):
        write_file("/proc/results.txt", "a")


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(OutputError, match="too long"):
        write_file(tmp_path / ("x" * 300), "a")
    write_file(tmp_path / ("x" * 250), "a")
    with new_folder(tmp_path / ("y" * 250), SMALL):
        pass


# --- room on the disk


def test_room_is_taken_before_the_block_and_given_back_at_the_first_file(tmp_path):
    def blocks(folder):
        return sum(entry.stat().st_blocks * 512 for entry in folder.iterdir())

    with new_folder(tmp_path / "a", 2**20) as folder:
        assert blocks(folder) >= 2**20
        write_file(folder / "a.txt", "a")
        assert blocks(folder) < 2**20
    with new_folder(tmp_path / "b", 2**20) as folder:
        free_reserve(folder)
        assert blocks(folder) == 0
    assert names_in(tmp_path / "a") == ["a.txt"]
    assert names_in(tmp_path / "b") == []


def test_room_is_taken_where_the_system_cannot_reserve(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    with new_folder(tmp_path / "a", 2**20 + 1) as folder:
        assert sum(entry.stat().st_size for entry in folder.iterdir()) == 2**20 + 1
    assert names_in(tmp_path / "a") == []


LIMITED = """
import os, resource, signal, sys
from dpmondrian.exceptions import OutputError
from dpmondrian.common.whole_files import new_folder, new_private_file, write_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
if "fill" in sys.argv:
    del os.posix_fallocate
ran = False
try:
    with new_folder(sys.argv[1] + "/results", 200_000):
        ran = True
except OutputError as error:
    print(ran, error)
try:
    with new_folder(sys.argv[1] + "/results", 50_000) as folder:
        write_file(folder / "a", "a" * 200_000)
except OutputError as error:
    print(error)
try:
    with new_private_file(sys.argv[1] + "/a") as file:
        file.write(b"a" * 200_000)
except OutputError as error:
    print(error)
write_file(sys.argv[1] + "/old.txt", "old")
try:
    write_file(sys.argv[1] + "/old.txt", "n" * 200_000, overwrite=True)
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("way", ["reserve", "fill"])
def test_files_that_may_not_grow(tmp_path, way):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), way], capture_output=True, text=True, timeout=600, check=True
    )
    first, *others = done.stdout.splitlines()
    assert first.startswith("False ")  # the block did not run
    assert len(others) == 3
    assert all("would exceed the size limit" in line for line in (first, *others))
    assert names_in(tmp_path) == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old"


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder on a disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("can_reserve", [True, False])
def test_a_full_disk_is_found_before_the_block(small_disk, monkeypatch, can_reserve):
    if not can_reserve:
        monkeypatch.delattr(os, "posix_fallocate")
    with pytest.raises(OutputError, match="the disk is full"), new_folder(small_disk / "results"):
        pytest.fail("the block must not run")
    assert names_in(small_disk) == []
    # What was reserved is really there for the results.
    with new_folder(small_disk / "results", 900_000) as folder:
        with pytest.raises(OSError, match="No space"):
            (folder / "other").write_bytes(b"x" * 500_000)
        (folder / "other").unlink()
        write_file(folder / "result", "x" * 800_000)
    assert names_in(small_disk) == ["results"]


def test_a_disk_that_runs_full_leaves_nothing(small_disk):
    write_file(small_disk / "old.txt", "old")

    def too_much():
        with new_folder(small_disk / "results", SMALL) as folder:
            write_file(folder / "a", "a" * 400_000)
            write_file(folder / "b", "b" * 900_000)

    def too_much_by_others():
        with new_folder(small_disk / "results", SMALL) as folder:
            (folder / "a").write_bytes(b"a" * 2_000_000)

    for action in (too_much, too_much_by_others):
        with pytest.raises(OutputError, match=r"'.*results' cannot be written: the disk is full|'.*b' cannot be"):
            action()
    with pytest.raises(OutputError, match="the disk is full"):
        write_file(small_disk / "old.txt", "x" * 2_000_000, overwrite=True)
    assert names_in(small_disk) == ["old.txt"]
    assert (small_disk / "old.txt").read_text() == "old"


# --- files


def test_files_are_not_overwritten_unless_told(tmp_path):
    path = tmp_path / "a.txt"
    write_file(path, "één\n")
    with pytest.raises(OutputError, match="already exists"):
        write_file(path, "two")
    assert path.read_bytes() == "één\n".encode()
    write_file(str(path), "two", overwrite=True)
    assert path.read_text() == "two"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_file_that_came_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    real_link = os.link

    def late(source, target):
        path.write_text("theirs")
        real_link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(OutputError, match="in the meantime"):
        write_file(path, "ours")
    assert path.read_text() == "theirs"
    assert names_in(tmp_path) == ["a.txt"]


def test_disks_without_links(tmp_path, monkeypatch):
    def no_links(source, target):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_file(tmp_path / "a.txt", "a")
    assert names_in(tmp_path) == ["a.txt"]


def test_other_errors_of_the_block_are_its_own(tmp_path):
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "results", SMALL) as folder:
        (folder / "none").read_text()


def test_bytes(tmp_path):
    put_bytes(tmp_path / "a", b"\xff\x00")
    assert (tmp_path / "a").read_bytes() == b"\xff\x00"
    with pytest.raises(OutputError, match="exists"):
        put_bytes(tmp_path / "a", b"")
    put_bytes(tmp_path / "a", b"new", overwrite=True)
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_that_is_written_bit_by_bit_appears_when_it_is_complete(tmp_path):
    with new_folder(tmp_path / "results", SMALL) as folder, new_private_file(folder / "a") as file:
        file.write(b"on")
        assert names_in(tmp_path) == [folder.name]
        assert not (folder / "a").exists()
        assert not (folder / ".dpmondrian-reserved").exists(), "the reserved room is for such files"
        file.write(b"e")
    assert (tmp_path / "results" / "a").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "results" / "a").stat().st_mode) == 0o600
    with pytest.raises(OutputError, match="exists"), new_private_file(tmp_path / "results" / "a"):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_a_file_when_the_block_fails(tmp_path, error):
    def fail():
        with new_private_file(tmp_path / "a") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert names_in(tmp_path) == []


def test_files_have_the_usual_permissions(tmp_path):
    write_file(tmp_path / "ours", "a")
    (tmp_path / "usual").write_text("a")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_files_that_cannot_be(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, text, words in (
        ("folder", "a", "a folder has this name"),
        ("none/a", "a", "does not exist"),
        ("link", "a", "exists"),
        ("a", "\ud800", "not valid Unicode"),
    ):
        with pytest.raises(OutputError, match=words):
            write_file(tmp_path / name, text)
    assert names_in(tmp_path) == ["folder", "link"]


KILLED = """
import sys
from dpmondrian.common.whole_files import write_file
number = 0
while True:
    number += 1
    write_file(sys.argv[1], str(number % 10) * 300_000, overwrite=True)
    print(number, flush=True)
"""


def test_a_kill_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.txt"
    for delay in (0.0, 0.013, 0.029):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        writer.stdout.readline()
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        text = path.read_text()
        assert len(text) == 300_000
        assert len(set(text)) == 1


# --- a release that is saved once more

SAVED_ON_A_FULL_DISK = """
import resource, signal, sys
from dpmondrian import DPM, OutputError
model = DPM.load(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    model.save(sys.argv[1])
except OutputError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def model():
    return DPM(bounds=(0, 1), max_depth=1).fit(np.linspace(0, 1, 200)[:, None])


@pytest.mark.slow
def test_a_full_disk_does_not_destroy_an_older_release(model, tmp_path):
    path = tmp_path / "release.json"
    model.save(path)
    before = path.read_bytes()
    command = [sys.executable, "-c", SAVED_ON_A_FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert path.read_bytes() == before
    assert "release.json' cannot be written: the file would exceed the size limit" in done.stdout, done.stderr
    assert os.listdir(tmp_path) == ["release.json"]


def test_an_older_release_is_replaced_where_it_is_and_keeps_its_permissions(model, tmp_path):
    path = tmp_path / "release.json"
    path.write_text("older")
    path.chmod(0o640)
    (tmp_path / "link.json").symlink_to("release.json")
    model.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(path.read_text())["format"] == "dpmondrian release"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_is_read_only_or_no_file_is_not_replaced(model, tmp_path):
    path = tmp_path / "release.json"
    path.write_text("older")
    path.chmod(0o444)
    with pytest.raises(OutputError, match=r"is read-only and was not overwritten.*chmod u\+w"):
        model.save(path)
    assert path.read_text() == "older"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="is not a regular file"):
        model.save(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
