"""The samplers draw from the laws that the privacy proofs are about: not roughly, and not with a scale a little off."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import chi2

from dpmondrian.privacy.mechanisms import noise
from dpmondrian.privacy.mechanisms.bits import SeededBits
from dpmondrian.privacy.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpmondrian.privacy.mechanisms.sampler import opendp_noise

SCALES = (0.3, 1.0, 7.7, 1000.5)
SAMPLERS = {"discrete Laplace": discrete_laplace, "discrete Gaussian": discrete_gaussian}
FITS, DIFFERS = 1e-6, 1e-12

every_law = pytest.mark.parametrize("law", SAMPLERS)
every_scale = pytest.mark.parametrize("scale", SCALES)


class NoBits:
    """A source for decisions that must not need further bits."""

    secure = False

    def words(self, size):
        raise AssertionError("a certain decision asked for further bits")

    def child(self, *path):
        return self


def pmf(law, scale):
    """Return the support, as far as it matters, and the exact probabilities."""
    reach = math.ceil(50 * scale) + 10
    x = np.arange(-reach, reach + 1)
    log_weights = -np.abs(x) / scale if law == "discrete Laplace" else -(x**2) / (2 * scale**2)
    weights = np.exp(log_weights)
    return x, weights / weights.sum()


def p_value(draws, law, scale, n_bins=30, least_expected=0.0):
    """Return the chi-square p-value of draws against a law, in about `n_bins` equally likely bins."""
    x, p = pmf(law, scale)
    bin_of = np.clip(np.floor(n_bins * (np.cumsum(p) - p / 2)), 0, n_bins - 1)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    expected = draws.size * np.add.reduceat(p, starts)
    assert expected.min() > least_expected, "too few draws for the chi-square approximation"
    observed = np.bincount(np.searchsorted(x[starts[1:]], draws, side="right"), minlength=starts.size)
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), starts.size - 1)


def assert_scale(draws, law, scale, wrong):
    """The right scale passes and a scale that is wrong by a part `wrong` on either side fails."""
    assert p_value(draws, law, scale, least_expected=5.0) > FITS
    assert p_value(draws, law, scale * (1 - wrong)) < DIFFERS
    assert p_value(draws, law, scale * (1 + wrong)) < DIFFERS


@every_law
@every_scale
def test_law_of_one_scale(law, scale):
    draws = SAMPLERS[law](np.full(100_000, scale), SeededBits(1).child(law, str(scale)))
    assert_scale(draws, law, scale, wrong=0.05)


@every_law
def test_each_entry_of_a_vector_has_its_own_scale(law):
    draws = SAMPLERS[law](np.tile(SCALES, 100_000), SeededBits(2)).reshape(-1, len(SCALES))
    for column, scale in enumerate(SCALES):
        assert_scale(draws[:, column], law, scale, wrong=0.05)


@every_law
def test_neighbouring_entries_are_independent(law):
    draws = SAMPLERS[law](np.full(100_000, 7.7), SeededBits(3)).astype(float)
    for values in (draws, np.abs(draws)):
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 6 / math.sqrt(draws.size)


@every_law
def test_the_laws_are_told_apart(law):
    other = next(name for name in SAMPLERS if name != law)
    draws = SAMPLERS[law](np.full(20_000, 7.7), SeededBits(4))
    assert p_value(draws, law, 7.7, least_expected=5.0) > FITS
    for scale in (3.0, 5.4, 7.7, 10.9, 15.0):
        assert p_value(draws, other, scale) < DIFFERS


@every_law
def test_a_huge_scale_keeps_the_law(law):
    """Beyond 2**40 floating point is always in doubt: every draw is decided exactly."""
    scale = 2.0**45
    draws = np.sort(np.abs(SAMPLERS[law](np.full(400, scale), SeededBits(5))))
    limit = 2.2  # of Kolmogorov's statistic: exceeded with a probability of 1e-4, and the seed is fixed
    assert kolmogorov(draws / scale, law) < limit
    assert kolmogorov(draws / (1.5 * scale), law) > limit
    assert kolmogorov(draws / (0.6 * scale), law) > limit


def kolmogorov(sizes, law):
    """Return the Kolmogorov statistic of sorted magnitudes against the continuous law of scale 1."""
    cdf = 1 - np.exp(-sizes) if law == "discrete Laplace" else erf(sizes / math.sqrt(2))
    return np.abs(cdf - (np.arange(sizes.size) + 0.5) / sizes.size).max() * math.sqrt(sizes.size)


@pytest.mark.slow
@every_law
@every_scale
def test_opendp_draws_from_the_same_law(law, scale):
    draws = opendp_noise(law, scale, 4000)  # so many that a wrong verdict has a probability below 1e-9
    assert p_value(draws, law, scale, n_bins=12, least_expected=5.0) > 1e-9
    for wrong in (scale / 2, scale * 2):
        assert p_value(draws, law, wrong, n_bins=12) < 1e-9


IN_DOUBT = 2


def one_try(words, scale, gaussian):
    """Return the value and the outcome of a single compiled try."""
    draws = np.zeros(1, dtype=np.int64)
    filled, used, in_doubt = noise.fill(np.array([scale]), gaussian, words, draws, 0)
    assert used == 3
    return draws[0], IN_DOUBT if in_doubt else noise.ACCEPTED if filled else noise.REJECTED


@pytest.mark.slow
@every_law
@every_scale
def test_compiled_try_agrees_with_exact_try_on_random_words(law, scale):
    gaussian = law == "discrete Gaussian"
    words = SeededBits(6).child(law, str(scale)).words(3 * 1500).reshape(-1, 3)
    decided = 0
    for row in words:
        value, status = one_try(row, scale, gaussian)
        if status != IN_DOUBT:
            exact_value, exact_status = noise._exact_try(row, Fraction(scale), gaussian, NoBits())
            assert status == exact_status
            assert status == noise.REJECTED or value == exact_value
            decided += 1
    assert decided > 0.99 * len(words)


def boundary_words(exponents):
    """Return words on both sides of ``2**64 * exp(-x)``, as near as a word and as far as the declared error."""
    shifts = [0, *(sign * shift for shift in (1, 2, 2**10, 2**20, 2**26, 2**30) for sign in (1, -1))]
    words = [math.floor(Fraction(math.exp(-x)) * 2**64) + shift for x in exponents for shift in shifts]
    return [word for word in words if 0 <= word < 2**64]


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.7, 1000.5, 123456.7])
def test_compiled_try_is_right_or_in_doubt_where_the_magnitude_changes(scale):
    doubts = 0
    for word in boundary_words(k / scale for k in (1, 2, 3, 10, 100)):
        row = np.array([word, 0, 0], dtype=np.uint64)
        value, status = one_try(row, scale, False)
        doubts += status == IN_DOUBT
        if status != IN_DOUBT:
            assert (value, status) == noise._exact_try(row, Fraction(scale), False, NoBits())
    assert doubts > 0


@every_law
@pytest.mark.parametrize("scale", [0.01, 0.05, 0.2, 1.0])
def test_the_word_zero_is_always_in_doubt(law, scale):
    """It stands for the whole tail, however long: without further bits large noise could never come up."""
    for acceptance in (0, 2**63):
        row = np.array([0, 0, acceptance], dtype=np.uint64)
        assert one_try(row, scale, law == "discrete Gaussian")[1] == IN_DOUBT


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.7, 1000.5, 123456.7])
def test_compiled_try_is_right_or_in_doubt_where_the_acceptance_changes(scale):
    doubts, laplace_scale = 0, math.floor(scale) + 1
    for magnitude in sorted({0, 1, 2, int(scale), int(2.5 * scale)}):
        middle = math.floor(Fraction(math.exp(-(magnitude + 0.5) / laplace_scale)) * 2**64)
        exponent = (magnitude - scale**2 / laplace_scale) ** 2 / (2 * scale**2)
        for word in boundary_words([exponent]):
            row = np.array([middle, 0, word], dtype=np.uint64)
            value, status = one_try(row, scale, True)
            assert value == magnitude
            doubts += status == IN_DOUBT
            if status != IN_DOUBT:
                assert (value, status) == noise._exact_try(row, Fraction(scale), True, NoBits())
    assert doubts > 0


@pytest.mark.slow
@every_law
@pytest.mark.parametrize("scale", [0.3, 7.7])
def test_draws_in_doubt_have_the_same_law(monkeypatch, law, scale):
    """With every try in doubt the exact path draws everything, and the law stays."""
    exact_try, tries = noise._exact_try, []

    def counted(*arguments):
        tries.append(1)
        return exact_try(*arguments)

    monkeypatch.setattr(noise, "_exact_try", counted)
    monkeypatch.setattr(noise, "fill", lambda scales, gaussian, words, draws, filled: (filled, 3, True))
    draws = SAMPLERS[law](np.full(3000, scale), SeededBits(7))
    assert len(tries) >= draws.size
    assert_scale(draws, law, scale, wrong=0.25)


def test_a_doubtful_try_in_the_middle_loses_and_repeats_nothing(monkeypatch):
    """With doubt on every fifth try the draws are still those of all tries in turn."""
    fill, tries = noise.fill, []

    def doubtful(scales, gaussian, words, draws, filled):
        filled, used, _ = fill(scales, gaussian, words[: 3 * 4], draws, filled)
        in_doubt = filled < draws.size
        used += 3 if in_doubt else 0
        tries.extend(words[:used].reshape(-1, 3))
        return filled, used, in_doubt

    monkeypatch.setattr(noise, "fill", doubtful)
    draws = discrete_laplace(np.full(300, 7.7), SeededBits(8))
    outcomes = [noise._exact_try(words, Fraction(7.7), False, NoBits()) for words in tries]
    assert draws.tolist() == [value for value, status in outcomes if status == noise.ACCEPTED]
