"""A run is charged once: whoever clicks how often, in how many tabs, and whatever ends in between."""

import json
import os
import re
import signal
import threading
import time

import pytest

from dpmondrian.accounts import Budget
from dpmondrian.accounts.locking import acquire_lock
from dpmondrian.release import Release

pytestmark = pytest.mark.slow


def ready(server, people, n_people=4000):
    """Return a user and a clustering that one post releases."""
    people(server.folder / "people.csv", n_people)
    Budget.create(server.folder / "budget.json", 30.0, 1e-5)
    user = server.user()
    return user, described(user)


def described(user, path="people.csv"):
    """Return a clustering of which everything is said."""
    work = user.chosen(path)
    bounds = {"lower-0": "0", "upper-0": "120", "lower-1": "0", "upper-1": "40"}
    user.post(f"{work}/columns", {"kind-0": "whole", "kind-1": "number", **bounds})
    user.post(f"{work}/plan", {"epsilon": "1"})
    assert user.post(f"{work}/account", {"how": "old", "path": "budget.json"})[1]["location"] == f"{work}/run"
    return work


def charges(server):
    return Budget(server.folder / "budget.json").read().entries


def test_many_clicks_in_several_tabs_charge_once(serve, people):
    server = serve()
    user, work = ready(server, people)
    clicks = [threading.Thread(target=user.post, args=(f"{work}/run", {"out": "published"})) for _ in range(6)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert user.until(work, "done", "stopped") == "done"
    assert user.post(f"{work}/run", {"out": "again"})[1]["location"] == f"{work}/result"
    assert [entry.state for entry in charges(server)] == ["released"]
    assert not (server.folder / "again").exists()
    page = user.get(f"{work}/result")[2]
    assert re.search(r"(\d clusters? (was|were)|No separate clusters were) found", page)
    for name in ("release.json", "centres.csv", "report.html"):
        assert user.get(f"{work}/get/{name}")[2] == (server.folder / "published" / name).read_text(encoding="utf-8")
    user.post(f"{work}/names", {"name-0": "=the first"})
    release = Release.load(server.folder / "published" / "release.json")
    assert (release.names, release.digest()) == ({0: "=the first"}, charges(server)[0].release)
    status, headers, report = user.get(f"{work}/report")
    assert (status, "sandbox" in headers["content-security-policy"]) == (200, True)
    assert report == (server.folder / "published" / "report.html").read_text(encoding="utf-8")


def test_a_second_server_waits_for_the_budget_and_a_cancelled_run_says_that_nothing_was_charged(serve, people):
    """The account is held by somebody else, as by a second server: the run waits for its turn, where it is cancelled; then it is not."""
    server = serve()
    user, work = ready(server, people)
    held = acquire_lock(server.folder / "budget.json", 10)
    try:
        user.post(f"{work}/run", {"out": "published"})
        while not list(server.state.rglob("run.checkpoint")):  # made right before the charge
            time.sleep(0.02)
        user.post(f"{work}/cancel")
        assert user.until(work, "done", "stopped") == "stopped"
        page = user.get(f"{work}/run")[2]
        assert "The budget was not charged." in page
        assert charges(server) == ()
        user.post(f"{work}/run", {"out": "published"})
    finally:
        held.release()
    assert user.until(work, "done", "stopped") == "done"
    assert len(charges(server)) == 1


def killed_after_its_charge(server, people):
    """Return a user and a clustering whose run was killed between its charge and its end; one that was quicker is tried again."""
    user, work = ready(server, people, 60_000)
    for number in range(20):
        user.post(f"{work}/run", {"out": f"published-{number}"})
        while not charges(server)[number:]:
            time.sleep(0.001)
        os.kill(int((server.state / work.removeprefix("/w/") / "run.pid").read_text()), signal.SIGKILL)
        if user.until(work, "done", "stopped") == "stopped":
            return user, work
        work = described(user)
    raise AssertionError("No run could be killed in time.")


def test_a_killed_run_is_continued_by_another_server_and_charged_once(serve, people):
    first = serve()
    user, work = killed_after_its_charge(first, people)
    assert "The budget was charged for this run." in user.get(f"{work}/run")[2]
    first.stop(signal.SIGKILL)
    second = serve()
    user = second.user()
    assert re.search(rf'href="{work}"', user.get("/")[2])
    assert "can only be read" in user.get(f"{work}/columns")[2]
    n_before = len(charges(second))
    user.post(f"{work}/run")
    assert user.until(work, "done", "stopped") == "done"
    assert len(charges(second)) == n_before
    assert [entry.state for entry in charges(second)] == ["released"] * n_before


def test_what_was_typed_survives_a_crash_of_the_server(serve, people):
    first = serve()
    user, work = ready(first, people)
    form = {
        "kind-0": "number",
        "lower-0": "half a bound",
        "upper-0": "",
        "kind-1": "category",
        "categories-1": "a\nb",
        "rows": "3",
    }
    assert user.post(f"{work}/columns", form, X_Draft="1")[0] == 204
    first.stop(signal.SIGKILL)
    user = serve().user()
    page = user.get(f"{work}/columns")[2]
    assert 'value="half a bound"' in page
    assert ">a\nb</textarea>" in page
    status, _, page = user.post(f"{work}/columns", form)
    assert status == 400
    assert "must be two finite numbers (lower, upper). Got (&#39;half a bound&#39;, &#39;&#39;) instead." in page


def test_errors_are_the_sentences_of_the_command_line(serve, people):
    server = serve()
    user, work = ready(server, people)
    status, _, page = user.post(f"{work}/plan", {"epsilon": "-1"})
    assert status == 400
    assert "The &#39;--epsilon&#39; option must be" in page
    (server.folder / "gaps.csv").write_text("age,visits\n1,\n2,3\n")
    work = described(user, "gaps.csv")
    user.post(f"{work}/run", {"out": "published"})
    assert user.until(work, "done", "stopped") == "stopped"
    page = user.get(f"{work}/run")[2]
    assert "--on-missing drop" in page
    assert f'<a href="{work}/columns#on_missing">“Rows with a missing value” in step Columns</a>' in page
    assert "The budget was not charged." in page
    assert charges(server) == ()


def test_estimated_bounds_are_paid_for_and_part_of_the_cost(serve, people):
    server = serve()
    user, work = ready(server, people)
    user.post(f"{work}/columns", {"kind-0": "whole", "lower-0": "0", "upper-0": "120", "kind-1": "number"})
    assert user.post(f"{work}/bounds", {"epsilon": "0.5"})[0] == 400
    assert charges(server) == ()
    for _ in range(2):
        assert user.post(f"{work}/bounds", {"epsilon": "0.5", "column-1": "on"})[0] == 303
    while "Reading the rows" in user.get(f"{work}/bounds")[2]:
        time.sleep(0.05)
    page = user.get(f"{work}/columns")[2]
    assert "Estimated from the rows, with noise." in page
    assert [entry.epsilon for entry in charges(server)] == [0.5]
    known = re.search(r'name="lower-1" value="([^"]+)".*?name="upper-1" value="([^"]+)"', page, re.DOTALL)
    form = {"kind-0": "whole", "lower-0": "0", "upper-0": "120", "kind-1": "number"}
    user.post(f"{work}/columns", {**form, "lower-1": known[1], "upper-1": known[2]})
    user.post(f"{work}/run", {"out": "published"})
    assert user.until(work, "done", "stopped") == "done", user.get(f"{work}/run")[2]
    release = json.loads((server.folder / "published" / "release.json").read_text(encoding="utf-8"))
    assert release["privacy"]["bounds_epsilon"] == 0.5
    assert [entry.epsilon for entry in charges(server)] == [0.5, 1.0]
    assert "estimate=Estimate(" in user.get(f"{work}/get/cluster.py")[2]


def test_a_dropped_file_is_deleted_when_its_release_is_made(serve, people, tmp_path):
    server = serve()
    people(tmp_path / "dropped.csv")
    user = server.user()
    work = json.loads(user.drop("dropped.csv", (tmp_path / "dropped.csv").read_bytes())[2])["next"].removesuffix(
        "/columns"
    )
    user.post(f"{work}/columns", {"kind-0": "whole", "lower-0": "0", "upper-0": "120"})
    user.post(f"{work}/plan", {"epsilon": "1"})
    user.post(f"{work}/account", {"how": "none"})
    user.post(f"{work}/run", {"out": "published"})
    assert user.until(work, "done", "stopped") == "done", user.get(f"{work}/run")[2]
    page = user.get(f"{work}/result")[2]
    assert "dpm cluster dropped.csv --schema dropped-schema.toml" in page
    assert list(server.state.rglob("dropped.csv")) == []
