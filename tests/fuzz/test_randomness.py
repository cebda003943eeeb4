"""A broken generator of the system is found before anything is drawn with it."""

import itertools
import os
import sys

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.cli.main import main
from dpmondrian.exceptions import RandomnessError
from dpmondrian.privacy.mechanisms import bits, sampler
from dpmondrian.privacy.mechanisms.bits import SecureBits

ROWS = np.zeros((50, 1))


def missing(size):
    raise NotImplementedError("no source of randomness")


def failing(size):
    raise OSError("no entropy")


def endless_pattern(size):
    pattern = b"0123456789abcdef"
    return (pattern * (size // len(pattern) + 1))[:size]


def same_page(size):
    return np.random.default_rng(0).bytes(size)


BROKEN = {
    "missing": missing,
    "failing": failing,
    "zeros": bytes,
    "ones": lambda size: b"\xff" * size,
    "a pattern": endless_pattern,
    "the same page again": same_page,
    "too little": lambda size: np.random.default_rng().bytes(size - 8),
    "not a whole word": lambda size: np.random.default_rng().bytes(size - 1),
}


@pytest.fixture
def new_process(monkeypatch):
    """Make this process one that has not tested its generators."""
    monkeypatch.setattr(bits, "_tested_process", None)


@pytest.fixture(params=BROKEN)
def broken(request, monkeypatch):
    monkeypatch.setattr(os, "urandom", BROKEN[request.param])
    return request.param


def test_a_broken_generator_is_found_at_the_start(new_process, broken):
    with pytest.raises(RandomnessError, match=r"No secure randomness is available.*Nothing was drawn"):
        SecureBits()
    with pytest.raises(RandomnessError):  # and again: a failed test is not a test
        SecureBits()


def test_nothing_is_spent_or_drawn_with_it(new_process, broken, monkeypatch):
    drawn = []
    monkeypatch.setattr(sampler.Sampler, "noise", lambda *arguments: drawn.append(arguments))
    with pytest.raises(RandomnessError):
        DPM(bounds=(0, 1)).fit(ROWS, progress=lambda *told: drawn.append(told))
    assert drawn == []


def test_a_seeded_run_does_not_ask(new_process, broken):
    assert DPM(bounds=(0, 1), random_state=0).fit(ROWS).n_clusters_ == 1


def test_the_command_says_so(new_process, broken, monkeypatch, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a\n" + "1\n" * 50)
    monkeypatch.setattr(sys, "argv", ["dpm", "cluster", str(tmp_path / "a.csv"), "--bounds", "a=0:2", "--quiet"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 1
    told = capsys.readouterr().err
    assert "randomness" in told.lower()
    assert not (tmp_path / "a-clusters").exists()


@pytest.mark.parametrize("breaks", ["missing", "zeros", "ones"])
def test_a_generator_that_breaks_later_is_found_at_the_next_page(monkeypatch, breaks):
    source = SecureBits()
    source.words(2000)
    monkeypatch.setattr(os, "urandom", BROKEN[breaks])
    with pytest.raises(RandomnessError):
        source.words(2000)


def test_another_source_does_not_get_the_same_page(monkeypatch):
    SecureBits().words(1)
    monkeypatch.setattr(os, "urandom", same_page)
    SecureBits().words(1)
    with pytest.raises(RandomnessError):
        SecureBits().words(1)


@pytest.mark.parametrize("noise", [lambda *_: np.arange(4), lambda *_: np.zeros(4, dtype=np.int64)])
def test_a_broken_generator_of_opendp_is_found(new_process, monkeypatch, noise):
    monkeypatch.setattr(sampler, "opendp_noise", noise)
    with pytest.raises(RandomnessError, match="OpenDP"):
        DPM(bounds=(0, 1)).fit(ROWS)


def test_a_sound_generator_is_tested_once(new_process, monkeypatch):
    reads, real = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: reads.append(size) or real(size))
    sources = [SecureBits() for _ in range(5)]
    assert len(reads) == 2
    sources[0].words(512)  # the page that was tested is used
    assert len(reads) == 2
    sources[1].words(1)
    assert len(reads) == 3


def test_a_forked_process_tests_again_and_opendp_draws_other_noise():
    source = SecureBits()
    parent = sampler.opendp_noise("discrete Laplace", 2.0**40, 4)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        before = bits._tested_process
        source.words(1)
        noise = sampler.opendp_noise("discrete Laplace", 2.0**40, 4)
        os.write(write, np.array([before != os.getpid(), bits._tested_process == os.getpid(), *noise]).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    retested = np.frombuffer(os.read(read, 48), dtype=np.int64)
    own = [sampler.opendp_noise("discrete Laplace", 2.0**40, 4) for _ in range(3)]
    assert retested[:2].tolist() == [1, 1]
    assert all(one.tolist() != other.tolist() for one, other in itertools.combinations([retested[2:], parent, *own], 2))
