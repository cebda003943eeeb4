"""Checkpoints, of fits that end and of fits that are killed, are searched for marks of the rows."""

import json
import pickle
import re
import warnings

import pytest

from dpmondrian import DPM, CheckpointError
from dpmondrian.accounts.checkpoint import Checkpoint, RunJournal
from dpmondrian.privacy.mechanisms.sampler import Sampler

from .test_models import SETTINGS, wanted_columns


class Killed(BaseException):
    pass


def fitted(rows, name, path, **others):
    parameters = {"epsilon": 0.3, "random_state": 4, **SETTINGS[name], **others}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DPM(**parameters).fit(wanted_columns(rows, parameters), checkpoint=path)


def marks_in_file(path, marks):
    """Return the marks in the bytes of a checkpoint, in its text, and in what its lines say."""
    content = path.read_bytes()
    text = re.sub(r'"[0-9a-f]{16,}"', '""', content.decode())  # the digits of hashes and random ids are any digits
    found = marks.bytes(content) | marks.text(text)
    for line in text.split("\n"):
        if line.endswith("}"):
            found |= marks.object(json.loads(line))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_files_of_whole_fits(name, rows, marks, tmp_path):
    """Of thousands of noisy counts some are exact by chance, so a mark is one that is there whatever the noise."""
    found, held_marks = [], []
    for seed in range(4, 9):
        path = tmp_path / f"run-{seed}.ckpt"
        fitted(rows, name, path, random_state=seed)
        found.append(marks_in_file(path, marks))
        state = Checkpoint(path).read()
        held_marks.append(marks.object(state))
        assert len(path.read_bytes()) < 16 * len(rows)  # not a number for each of their values
    assert set.intersection(*found) == set.intersection(*held_marks) == set()
    if "persons" in name:
        assert b"person" in path.read_bytes()  # the column, a public name, and nobody's id
    held = Checkpoint(path).journal(state.facts)
    with held as journal:
        assert marks.object(journal) <= held_marks[-1]
        assert marks.text(repr(journal) + repr(Checkpoint(path))) == set()


@pytest.mark.parametrize("n_draws", [1, 3, 8])
def test_files_of_killed_fits(n_draws, rows, marks, tmp_path, monkeypatch, told):
    path, kept, real = tmp_path / "run.ckpt", [], Sampler.noise

    def deadly(self, *arguments):
        kept.append(arguments)
        if len(kept) > n_draws:
            raise Killed
        return real(self, *arguments)

    monkeypatch.setattr(Sampler, "noise", deadly)
    with pytest.raises(Killed):
        fitted(rows, "default", path)
    assert Checkpoint(path).read().draws
    assert marks_in_file(path, marks) == set()
    for other in tmp_path.iterdir():
        assert marks.bytes(other.read_bytes()) == set()
    assert marks.text(told()) == set()


def test_errors(rows, marks, tmp_path, monkeypatch):
    """Of a disk that is full after a draw, of another run, and of a damaged file."""
    path = tmp_path / "run.ckpt"
    errors = []

    def full(self, body):
        raise self._checkpoint.failed("cannot be written", OSError(28, "No space left on device"))

    with monkeypatch.context() as patched:
        patched.setattr(RunJournal, "_append", full)
        with pytest.raises(CheckpointError) as caught:
            fitted(rows, "default", path)
    errors.append(caught.value)
    fitted(rows, "default", path)
    for changes in ({"windows": 64}, {"person_id": "person"}):
        with pytest.raises(CheckpointError) as caught:
            fitted(rows, "default", path, **changes)
        errors.append(caught.value)
    path.write_text("ZXCANARY 12345.678901")
    with pytest.raises(CheckpointError) as caught:
        fitted(rows, "default", path)
    errors.append(caught.value)
    for error in errors:
        assert marks.error(error) == set()
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
        assert marks.bytes(pickle.dumps(error)) == set()


def test_an_exact_count_in_a_file_is_found(marks, tmp_path):
    """The search itself: a journal that is given exact values is caught."""
    import numpy as np

    path = tmp_path / "run.ckpt"
    with Checkpoint(path).journal({}) as journal:
        journal.begin()
        journal.keep("count", 0, 0.5, np.array([31_337, 5]))
    assert marks_in_file(path, marks)
