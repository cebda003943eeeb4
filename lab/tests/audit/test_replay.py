"""The audit finds nothing in what is sound, says what published variants are, and leaves everything as it was."""

import inspect
import json
import threading
import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian import DPM, Category, Column, FewRowsWarning, OneClusterWarning, Schema
from dpmondrian.dpm.draws import ALL_DRAWS, DOMAIN_SUMS, SPLIT
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import Door
from dpmondrian.privacy.draws import LAPLACE, PERMUTE_AND_FLIP, ROWS, Draw, Kind
from dpmondrian.privacy.plan import Plan, PlannedDraw
from dpmondrian_lab.audit import Finding, Findings, adversarial_pairs, audit_pairs, audit_replay, exact_law
from dpmondrian_lab.audit import recording as recordings
from dpmondrian_lab.audit.recording import fingerprint, record
from dpmondrian_lab.audit.replay import rows_in_both
from dpmondrian_lab.peers import EMMC, DPLloyd, FastLloyd, LSHSplits, PEMeans
from dpmondrian_lab.peers.base import Peer
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import LabPlan

NUMBERS = Schema((Column("x", 0.0, 100.0), Column("y", -1.0, 1.0), Column("z", 0, 10, whole=True)))
LOGS = Schema((Column("income", 1.0, 1e6, log=True), Column("y", -1.0, 1.0)))
PLANS = Schema((*NUMBERS.columns[:2], Category("plan", tuple("bcdef"))))
CUT_PLANS = Schema((*NUMBERS.columns[:2], Category("plan", tuple("bcdef"), cut=True)))
SMALL = {"max_depth": 3, "windows": 16}


def rows_of(values):
    """Return an array as a table with the columns of `NUMBERS`."""
    return pa.table({name: np.ascontiguousarray(values[:, j]) for j, name in enumerate(NUMBERS.names)})


def uniform(n_rows):
    return np.random.default_rng(0).uniform(NUMBERS.lower, NUMBERS.upper, (n_rows, 3))


def dpm(epsilon=8.0, delta=1e-6, schema=NUMBERS, **parameters):
    return lambda: DPM(epsilon=epsilon, delta=delta, bounds=schema, **SMALL, **parameters)


SOUND = {
    "default": (dpm(), {}),
    "pure k": (dpm(24.0, 0.0, n_clusters=3), {}),
    "paper": (dpm(40.0, variant="paper"), {}),
    "cut categories pure": (dpm(24.0, 0.0, CUT_PLANS), {}),
    "log": (dpm(schema=LOGS), {}),
    "drop": (dpm(schema=PLANS, on_missing="drop"), {"missing": True}),
    "middle": (dpm(on_missing="middle"), {"missing": True}),
    "rows per person": (dpm(24.0, rows_per_person=3), {"rows_per_person": 3}),
    "person_id": (dpm(24.0, rows_per_person=2, person_id="who"), {"rows_per_person": 2, "person_id": "who"}),
    "DP-Lloyd": (lambda: DPLloyd(3, 40.0, NUMBERS, expected_rows=60), {}),
    "LSH-Splits": (lambda: LSHSplits(3, 40.0, 1e-6, NUMBERS), {}),
    "FastLloyd": (lambda: FastLloyd(3, 40.0, 1e-6, NUMBERS, expected_rows=60), {}),
    "EM-MC": (lambda: EMMC(3, 20.0, 1e-6, NUMBERS, expected_rows=60), {}),
    "EM-MC tight": (lambda: EMMC(3, 20.0, 1e-6, NUMBERS, variant="tight", expected_rows=60), {}),
}
OVERPAID = {
    "quality": 0.45
}  # no row is at the limit of all its sums: next to its own centre for one k, it is not for another
PAPER_OVERPAID = {"split": 0.4, "interval size": 0.2}
PEERS_OVERPAID = {
    "leaf sums": 0.9,
    "averages": 0.85,
}  # what these pairs reach


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_found_in_what_is_sound(name):
    """On adversarial neighbours, which use up what is paid for: a smaller price would be noticed."""
    make, options = SOUND[name]
    schema = make().bounds
    pairs = adversarial_pairs(schema, n_rows=60, windows=16, **options)
    if isinstance(make(), Peer):  # which look at places, not at windows
        pairs = [pair for pair in pairs if "cut" not in pair.name]
    findings = audit_pairs(make, pairs)
    assert findings.ok, str(findings)
    assert findings.n_pairs == len(pairs)
    assert findings.not_asked == ()
    least = PAPER_OVERPAID if name == "paper" else OVERPAID | PEERS_OVERPAID
    assert {query for query, part in findings.used.items() if part < least.get(query, 0.95)} == set()


def test_every_draw_of_the_algorithm_is_replayed():
    asked = set()
    for make, options in SOUND.values():
        if isinstance(make(), DPM) and not options:
            [pair] = [pair for pair in adversarial_pairs(make().bounds, n_rows=60) if pair.name == "upper corner"]
            asked |= {query.draw for query in record(lambda m=make, p=pair: m().fit(p.table)).queries}
    assert asked == set(ALL_DRAWS)


def test_nothing_is_found_in_pe_means():
    pairs = adversarial_pairs(NUMBERS, n_rows=20)
    names = ("upper corner", "far above the bounds", "0 rows", "empty leaf")
    few = {pair.name: pair for pair in pairs if pair.name in names}
    findings = audit_pairs(lambda: PEMeans(30, 1.0, 1e-6, NUMBERS, expected_rows=30), few.values())
    assert findings.ok, str(findings)
    assert findings.used == {"row count": pytest.approx(1.0), "votes": pytest.approx(1.0)}


def test_rows_that_are_dropped_use_nothing():
    rows = uniform(40)
    more = np.vstack([rows, [np.nan, 1.0, 1.0]])
    findings = audit_replay(dpm(on_missing="drop"), rows_of(rows), rows_of(more))
    assert findings.ok
    assert set(findings.used.values()) == {0.0}


SIX = Schema(tuple(Column(f"x{j}", 0.0, 1.0) for j in range(6)))  # from five columns on, exchanged shares cost more
PUBLISHED = {
    "DP-Lloyd": (lambda: DPLloyd(6, 4.0, SIX, variant="as_published", expected_rows=60), {"control flow", "budget"}),
    "LSH-Splits": (lambda: LSHSplits(3, 4.0, 1e-6, NUMBERS, variant="as_published"), {"sensitivity", "price"}),
    "EM-MC": (
        lambda: EMMC(3, 4.0, 1e-6, NUMBERS, variant="as_published", expected_rows=60),
        {"sensitivity", "price", "groups"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_variants_are_reported_as_what_they_are(name):
    make, kinds = PUBLISHED[name]
    schema = make().bounds
    findings = audit_pairs(make, adversarial_pairs(schema, n_rows=30)[::2])
    assert kinds | {"defect"} <= findings.kinds
    admitted = [finding.words for finding in findings.findings if finding.kind == "defect"]
    plan = make()._plan(make()._settings(), len(schema.columns))
    assert admitted == list(plan.defects)


def test_two_persons_are_not_covered():
    rows = uniform(40)
    findings = audit_replay(dpm(), rows_of(rows), rows_of(np.vstack([rows, rows[:1], rows[:1]])))
    assert {"sensitivity", "price"} <= findings.kinds
    count = next(finding for finding in findings.findings if finding.query == "count, level 0")
    assert (count.measured, count.allowed) == (2.0, 1.0)


# --- somebody else's estimator ------------------------------------------------------------------------------------


BINS = Draw("bins", Kind.NOISE, ROWS)


class Histogram:
    """Releases how many rows lie in each of ten bins of [0, 1), and the middle of the fullest."""

    def __init__(self, epsilon=1.0, leak=None):
        self.epsilon, self.leak = epsilon, leak

    def fit(self, rows):
        draw = PlannedDraw(BINS, 0, LAPLACE, 1.0 / self.epsilon, self.epsilon)
        door = Door(Plan(self.epsilon, 0.0, "epsilon", (draw,)))
        bins = np.clip(np.floor(10 * np.asarray(rows)[:, 0]), 0, 9).astype(np.int64)
        exact = np.bincount(bins, minlength=10)
        self.counts_ = door.counts(BINS, 0, 2 * exact if self.leak == "twice" else exact)
        self.fullest_ = int(exact.argmax() if self.leak == "result" else self.counts_.argmax())
        self.labels_ = bins
        self.number_ = 0
        if self.leak == "unknown object":
            self.holder_ = Holder(len(rows))
        return self


class Holder:
    def __init__(self, value):
        self.value = value


def test_an_estimator_of_ones_own():
    rows = np.linspace(0, 0.45, 46)[:, None]
    more = np.vstack([rows, [[0.95]] * 1])
    assert audit_replay(Histogram, rows, more).ok
    assert audit_replay(Histogram, rows, more).used == {"bins": pytest.approx(1.0)}
    assert {"sensitivity", "price"} == audit_replay(lambda: Histogram(leak="twice"), rows, more).kinds
    tie = np.array([[0.05], [0.15]])
    assert audit_replay(lambda: Histogram(leak="result"), tie, np.vstack([tie, [0.15]])).kinds == {"result"}
    assert audit_replay(lambda: Histogram(leak="unknown object"), rows, more).kinds == {"result"}


def test_a_failure_is_reported_without_its_words():
    class Fails(Histogram):
        def fit(self, rows):
            if len(rows) > 3:
                raise ValueError(f"{len(rows)} rows")
            return super().fit(rows)

    findings = audit_replay(Fails, np.zeros((3, 1)), np.zeros((4, 1)))
    assert findings.kinds == {"failure"}
    assert findings.findings[0].words == "the run on the neighbour ended with ValueError"
    both = audit_replay(Fails, np.zeros((4, 1)), np.zeros((5, 1)))
    assert [finding.kind for finding in both.findings] == ["failure", "failure"]


def test_warnings_that_depend_on_rows_are_found():
    class Warns(Histogram):
        def fit(self, rows):
            import warnings

            warnings.warn(f"{len(rows)} rows", stacklevel=1)
            return super().fit(rows)

    assert audit_replay(Warns, np.zeros((3, 1)), np.zeros((4, 1))).kinds == {"public facts"}


def test_a_question_more_is_found():
    class AsksMore(Histogram):
        def fit(self, rows):
            super().fit(rows)
            return super().fit(rows) if len(rows) > 3 else self

    assert audit_replay(AsksMore, np.zeros((3, 1)), np.zeros((4, 1))).kinds == {"control flow"}
    assert audit_replay(AsksMore, np.zeros((4, 1)), np.zeros((3, 1))).kinds == {"control flow"}


def test_public_randomness_that_depends_on_rows_is_found():
    class Random(Histogram):
        def fit(self, rows):
            super().fit(rows)
            door = LabDoor(LabPlan(1.0, 0.0, "epsilon", (PlannedDraw(SPLIT, 0, PERMUTE_AND_FLIP, 1.0, 1.0),)))
            self.start_ = door.public_randomness("start", len(rows) if self.leak else 0).normal()
            return self

    assert audit_replay(Random, np.zeros((3, 1)), np.zeros((4, 1))).ok
    assert audit_replay(lambda: Random(leak=True), np.zeros((3, 1)), np.zeros((4, 1))).kinds == {"control flow"}


def test_a_planned_draw_that_was_not_made_is_found():
    class Lazy(Histogram):
        def fit(self, rows):
            Door(Plan(1.0, 0.0, "epsilon", (PlannedDraw(DOMAIN_SUMS, None, LAPLACE, 1.0, 1.0),)))
            return self

    assert audit_replay(Lazy, np.zeros((3, 1)), np.zeros((4, 1))).kinds == {"ledger"}


# --- the instrument itself ----------------------------------------------------------------------------------------


def test_the_recorder_stands_at_every_passage():
    """A new way through the door must be recorded, or be named here as one through which nothing exact passes."""
    nothing_exact = {"deviation", "deviation_at", "close", "plan_draw", "extend", "waive"}
    for door, watcher in ((Door, recordings._AtTheDoor), (LabDoor, recordings._AtTheLabDoor)):
        passages = {name for name, method in vars(door).items() if inspect.isfunction(method) and name[0] != "_"}
        assert passages - nothing_exact == {name for name in vars(watcher) if name[0] != "_"}


def test_the_door_is_left_as_it_was():
    def fails():
        Door(Plan(1.0, 0.0, "epsilon", ()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(fails)
    assert record(lambda: type(Door(Plan(1.0, 0.0, "epsilon", ()))).__name__).result == fingerprint("RecordedDoor")
    assert type(Door(Plan(1.0, 0.0, "epsilon", ()))) is Door


def test_an_audit_takes_no_checkpoint(tmp_path):
    path, rows = tmp_path / "run.checkpoint", rows_of(uniform(200))
    assert record(lambda: dpm()().fit(rows, checkpoint=path)).failure == "ParameterError"
    assert not path.exists()


def test_a_recorded_run_releases_what_the_run_would_release():
    rows = rows_of(uniform(200))
    alone = dpm(random_state=3)().fit(rows)
    recording = record(lambda: dpm()().fit(rows).cluster_centers_, seed=3)
    assert recording.result == fingerprint(alone.cluster_centers_)


def test_secure_runs_are_audited_reproducibly():
    rows = rows_of(uniform(50))
    one, two, other = (record(lambda: dpm()().fit(rows).cluster_centers_, seed=seed).result for seed in (0, 0, 1))
    assert one == two != other


def test_exact_values_are_not_in_a_repr():
    recording = record(lambda: Histogram().fit(np.full((7919, 1), 0.31)))
    assert recording.queries[0].exact[3][0] == 7919
    assert "7919" not in repr(recording)


def test_rows_in_both():
    rows = np.array([[1.0], [np.nan], [1.0], [2.0]])
    for positions in ([0, 1, 2, 3], [0, 1, 3], [3], []):
        found, where = rows_in_both(rows[positions].reshape(-1, 1), rows)
        assert np.array_equal(rows[where], rows[positions].reshape(-1, 1), equal_nan=True)
        assert found.tolist() == list(range(len(positions)))
        assert rows_in_both(rows, rows[positions].reshape(-1, 1))[0].tolist() == where.tolist()
    frame = pa.table({"a": [1, 2], "b": ["x", None]})
    assert rows_in_both(frame, frame.slice(1))[0].tolist() == [1]
    with pytest.raises(ParameterError, match="same order"):
        rows_in_both(rows, rows[::-1])


@pytest.mark.parametrize(
    "value", [np.float64(0.1), {"a": [1, (2.0,)]}, Column("x", 0, 1), np.array(["a", None], object)]
)
def test_fingerprints_are_of_values(value):
    import copy

    assert fingerprint(value) == fingerprint(copy.deepcopy(value))
    assert fingerprint(value) != fingerprint([value])
    assert fingerprint(np.array([0.0])) != fingerprint(np.array([-0.0]))


def test_findings_in_words_and_as_json():
    bad = Finding("price", "split, level 2", np.inf, 0.5, "too much")
    one = Findings((bad,), {"split": 1.5, "count": 0.2}, 3, not_asked=("level", "bridge")).named("empty leaf")
    both = Findings.together([one, Findings((), {"split": 0.1, "level": 0.98}, 4, not_asked=("bridge",))])
    assert not both.ok
    assert both.used == {"split": 1.5, "count": 0.2, "level": 0.98}
    text = str(both)
    assert "The audit found 1 problem: 7 queries compared on 2 pairs of tables." in text
    assert "price [split, level 2; empty leaf]: too much (inf, allowed 0.5)" in text
    assert "level: used 98 % of what was paid for" in text
    assert "bridge: was never asked" in text
    assert both.not_asked == ("bridge",)
    read = json.loads(json.dumps(both.to_dict(), allow_nan=False))
    assert read["findings"][0]["measured"] == "inf"
    assert read["ok"] is False
    assert "The audit found nothing" in str(Findings())


def test_exact_laws_of_real_runs_are_within_the_promise():
    rows = np.repeat([[20.0, -0.5, 2.0], [80.0, 0.5, 8.0]], 30, axis=0)
    for make in (dpm(40.0), dpm(60.0, 0.0, n_clusters=2), dpm(40.0, variant="paper")):
        for row in ([50.0, 0.0, 5.0], [100.0, 1.0, 0.0]):
            findings = exact_law(make, rows_of(rows), rows_of(np.vstack([rows, row])))
            assert findings.ok, str(findings)
            assert findings.n_queries > 1
            assert findings.used["split"] > 0.3


def secure_centres():
    """Return the centres of a fit with secure noise, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released = secure_fit()
    assert {warning.category for warning in caught} <= {FewRowsWarning, OneClusterWarning}
    return released


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_an_audit_that_is_interrupted_leaves_later_fits_alone(ending):
    def interrupted():
        DPM(bounds=(0, 100)).fit(np.full((100, 1), 20.0))
        raise ending

    with pytest.raises(ending):
        record(interrupted)
    assert secure_centres() != secure_centres()


def test_fits_of_other_threads_are_not_observed_and_keep_their_secure_noise():
    inside, outside = threading.Event(), []

    def run():
        worker = threading.Thread(target=lambda: outside.extend([secure_fit(), secure_fit()]))
        worker.start()
        worker.join()
        inside.set()
        return DPM(bounds=(0, 100)).fit(np.full((100, 1), 20.0)).cluster_centers_

    recorded = record(run)
    assert inside.is_set()
    assert len(recorded.doors) == 1
    assert outside[0] != outside[1]


def secure_fit():
    """Return what a fit with secure noise releases: of wide rows in many columns, so that no two are the same by chance."""
    model = DPM(epsilon=1.0, bounds=(0, 1)).fit(np.random.default_rng(0).random((500, 12)))
    assert model.privacy_.releasable
    return model.cluster_centers_.tobytes() + model.tree_.size.tobytes()


def test_audits_in_two_threads_leave_nothing_behind():
    def audit():
        record(lambda: DPM(bounds=(0, 100)).fit(np.full((100, 1), 20.0)).cluster_centers_)

    threads = [threading.Thread(target=audit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert secure_centres() != secure_centres()


def test_decimal_numbers_are_rounded_each_by_itself():
    """Arrow rounds a decimal number by the scale of its column, which one row with more digits changes."""
    base = [Decimal("6.4")] * 100 + [Decimal("1.6")] * 50 + [Decimal("11.2")] * 50
    tables = [pa.table({"x": pa.array(rows)}) for rows in (base, [*base, Decimal("0.00000000000000000001")])]
    assert tables[0].schema != tables[1].schema
    findings = audit_replay(
        lambda: DPM(epsilon=20.0, delta=1e-3, bounds={"x": (0, 12.8)}, max_depth=3, min_cluster_size=5), *tables, seed=1
    )
    assert findings.ok, str(findings)
