"""Random interrupts of real processes: ``make interrupts RUNS=500``. No test of the suite; half an hour for 500 on two cores.

`dpm cluster` and `DPM.fit` are started and get SIGINT or SIGTERM at random moments. Each must end within two seconds, with exit code 130 or 143 or as `KeyboardInterrupt`, leave nothing
half-written, and say what the budget file says. Prints a line per run and a table; exit code 1 if there was a defect.

The seconds are those in which the main thread ran or waited for something of its own program. Seconds in which it was ready and other processes had
the processors are taken off, as Linux counts them; those of other threads, for which it may have waited too, are not.
Before Python runs any of our code, signals end it as the system decides. Such runs have a line of their own, and must have left nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpmondrian.accounts.budget import Budget, BudgetEntry
from dpmondrian.accounts.checkpoint import Checkpoint

ALLOWED_SECONDS = 2.0
HANG_SECONDS = 60.0
FIT = """
import sys, time
from pathlib import Path
import numpy as np
from dpmondrian import DPM
rows = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1)
print("begun", flush=True)
try:
    DPM(bounds=(0, 100)).fit(rows, budget=sys.argv[2], checkpoint=sys.argv[3])
    print("fitted", flush=True)
except KeyboardInterrupt as interrupt:
    statistics = Path("/proc/self/schedstat")
    print(type(interrupt).__name__, time.monotonic(), statistics.read_text() if statistics.exists() else "", flush=True)
    sys.exit(130)
"""


@dataclass
class Kind:
    """What is interrupted, with which signal, and how many seconds a run lasts, as far as is known on a busy machine."""

    program: str
    number: signal.Signals
    lasts: float

    def moment(self, generator: random.Random) -> float:
        """Return a moment of a run."""
        return generator.uniform(0.0, self.lasts)

    def learn(self, has_finished: bool) -> None:
        """Come earlier where a run finished before it was interrupted, and a little later otherwise."""
        self.lasts *= 0.8 if has_finished else 1.02

    def __str__(self) -> str:
        return f"{self.program}, {self.number.name}"


@dataclass
class Outcome:
    """How a run ended, and how long that took: to the end of a command or the interrupt of a fit, and of the process."""

    seconds: float
    whole: float
    ending: str
    defects: list[str] = field(default_factory=list)


def kinds(table: Path) -> list[Kind]:
    """Return all kinds."""
    programs = [("dpm", signal.SIGINT), ("dpm", signal.SIGTERM), ("fit", signal.SIGINT)]
    lasts = {program: undisturbed(table, program) for program in ("dpm", "fit")}
    print("An undisturbed run takes", {program: f"{seconds:.1f} s" for program, seconds in lasts.items()}, flush=True)
    return [Kind(program, number, lasts[program]) for program, number in programs]


def undisturbed(table: Path, program: str) -> float:
    """Return how many seconds a run takes that nobody interrupts."""
    with tempfile.TemporaryDirectory() as name:
        folder, kind = Path(name), Kind(program, signal.SIGINT, 0.0)
        Budget.create(folder / "budget.json", 3.0, 1e-6)
        with subprocess.Popen(command(kind, table, folder), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            begin = time.monotonic()
            if program == "fit":
                process.stdout.readline()
                begin = time.monotonic()
            process.communicate()
        assert process.returncode == 0
        return time.monotonic() - begin


def perform(table: Path, kind: Kind, seed: int) -> Outcome:
    """Start a process, interrupt it, and look at what it leaves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Budget.create(folder / "budget.json", 3.0, 1e-6)
        process = subprocess.Popen(
            command(kind, table, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        outcome = interrupted(process, kind, kind.moment(random.Random(seed)), folder)
    kind.learn(outcome.ending == "finished")
    return outcome


def command(kind: Kind, table: Path, folder: Path) -> list[str]:
    """Return what to start."""
    budget, checkpoint = str(folder / "budget.json"), str(folder / "run.ckpt")
    if kind.program == "fit":
        return [sys.executable, "-c", FIT, str(table), budget, checkpoint]
    options = ["--bounds", "a=0:100", "--bounds", "b=0:100", "--quiet", "--labels", "--out", str(folder / "out")]
    files = ["--budget", budget, "--checkpoint", checkpoint]
    return [sys.executable, "-m", "dpmondrian", "cluster", str(table), *options, *files]


def interrupted(process: subprocess.Popen[str], kind: Kind, moment: float, folder: Path) -> Outcome:
    """Send the signal at a moment of the run (of a fit, after the imports), and judge."""
    assert process.stdout is not None
    if kind.program == "fit":
        process.stdout.readline()
    time.sleep(moment)
    begin = undelayed_time(time.monotonic(), statistics_of(process))
    os.kill(process.pid, kind.number)  # `Popen.send_signal` would forget a process that has ended
    if not has_ended(process):
        process.kill()
        process.communicate()
        return Outcome(HANG_SECONDS, HANG_SECONDS, "hang", ["hangs"])
    whole = seconds = undelayed_time(time.monotonic(), statistics_of(process)) - begin
    out, err = process.communicate()
    if kind.program == "fit" and " " in out:
        out, moment_caught, statistics = out.split(" ", 2)
        seconds = undelayed_time(float(moment_caught), statistics) - begin
    judge = judged_fit if kind.program == "fit" else judged_command
    ending, defects = judge(process.returncode, kind, out, err, folder)
    if seconds > ALLOWED_SECONDS:
        defects.append(f"took {seconds:.1f} s")
    if left := sorted(path.name for path in folder.iterdir() if path.name.endswith(".part")):
        defects.append(f"left {left}")
    return Outcome(seconds, whole, ending, defects)


def has_ended(process: subprocess.Popen[str]) -> bool:
    """Wait for a process, which stays to be looked at, and return whether it has ended."""
    handle = os.pidfd_open(process.pid)
    try:
        return bool(select.select([handle], [], [], HANG_SECONDS)[0])
    finally:
        os.close(handle)


def statistics_of(process: subprocess.Popen[str]) -> str:
    """Return what Linux counts of the main thread of a process: nanoseconds on a processor and ready for one, times on one."""
    path = Path(f"/proc/{process.pid}/schedstat")
    return path.read_text() if path.exists() else ""


def undelayed_time(moment: float, statistics: str) -> float:
    """Return a moment less the seconds that a main thread had been ready by then while others had the processors."""
    return moment - int(statistics.split()[1]) / 1e9 if statistics.strip() else moment


def judged_fit(code: int, kind: Kind, out: str, err: str, folder: Path) -> tuple[str, list[str]]:
    """Return how a fit ended, and what is wrong with that."""
    n_charges = len(charges(folder))
    if (code, out) == (0, "fitted\n"):
        return "finished", [] if n_charges == 1 else ["finished without a charge"]
    if code == 0 - kind.number and out in ("fitted\n", "KeyboardInterrupt"):
        return "after the fit", []
    defects = []
    if (code, out) != (130, "KeyboardInterrupt"):
        defects.append(f"ended with {code}, {out!r}")
    if err:
        defects.append(f"said {err[-300:]!r}")
    if n_draws(folder) > 0 and n_charges == 0:
        defects.append("drew without a charge")
    return "charged" if n_charges else "not charged", defects


def judged_command(code: int, kind: Kind, out: str, err: str, folder: Path) -> tuple[str, list[str]]:
    """Return how a command ended, and what is wrong with that."""
    is_whole = files_in(folder / "out") >= {"release.json", "centres.csv", "report.html"}
    n_charges = len(charges(folder))
    if code == 0 or (code == -kind.number and "labels.parquet" in files_in(folder / "out-sensitive")):
        return "finished", [] if is_whole and n_charges == 1 else ["finished without results"]
    left = [path for path in folder.iterdir() if not path.name.startswith("budget.json")]
    was_at_start = code == -kind.number or "KeyboardInterrupt" in err
    if was_at_start and not left and n_charges == 0 and "Stopped" not in err and "dpmondrian/cli" not in err:
        return f"interpreter's start, {code}", []
    defects = []
    if code != 128 + kind.number:
        defects.append(f"ended with {code}")
    lines = err.splitlines()
    if not lines or not lines[-1].startswith("Stopped.") or not all(line.startswith("Note: ") for line in lines[:-1]):
        defects.append(f"said {err[-300:]!r}")
    if (folder / "out").exists() and not is_whole:
        defects.append(f"half-written: {files_in(folder / 'out')}")
    if is_whole == ("Nothing was written" in err):
        defects.append(f"results and words differ: {err[-300:]!r}")
    # After the results are written nobody asks any more what they cost.
    if not is_whole and (n_charges > 0) != ("was charged for this run" in err):
        defects.append(f"{n_charges} charges, but: {err[-300:]!r}")
    if not is_whole and (n_draws(folder) > 0) != ("the progress of this run is saved" in err):
        defects.append(f"{n_draws(folder)} draws, but: {err[-300:]!r}")
    return "written" if is_whole else "charged" if n_charges else "not charged", defects


def charges(folder: Path) -> tuple[BudgetEntry, ...]:
    """Return the entries of the budget, which must be readable."""
    return Budget(folder / "budget.json").read().entries


def n_draws(folder: Path) -> int:
    """Return how many draws the checkpoint keeps, which must be readable."""
    state = Checkpoint(folder / "run.ckpt").read()
    return 0 if state is None else len(state.draws)


def files_in(folder: Path) -> set[str]:
    """Return the names in a folder, none if there is no folder."""
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def write_table(path: Path) -> None:
    """Write 60,000 invented rows: enough for two threads."""
    generator = np.random.default_rng(0)
    rows = generator.choice([20.0, 50.0, 80.0], (60_000, 1)) + generator.normal(0.0, 4.0, (60_000, 2))
    np.savetxt(path, rows, fmt="%.2f", delimiter=",", header="a,b", comments="")


def main() -> None:
    """Perform the campaign and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="of the moments")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs in the background ignore it
    print(f"{arguments.runs} runs, seed {arguments.seed}", flush=True)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        table = Path(folder, "table.csv")
        write_table(table)
        all_kinds = kinds(table)
        chosen = [all_kinds[number % len(all_kinds)] for number in range(arguments.runs)]
        performed = pool.map(
            lambda numbered: perform(table, numbered[1], arguments.seed + numbered[0]), enumerate(chosen)
        )
        for number, (kind, outcome) in enumerate(zip(chosen, performed, strict=True), start=1):
            outcomes[str(kind)].append(outcome)
            told = "; ".join(["", *(f"DEFECT {defect}" for defect in outcome.defects)])
            print(f"{number:4} {kind}: {outcome.ending}, {outcome.seconds:.2f} s{told}", flush=True)
    sys.exit(summarised(outcomes))


def summarised(outcomes: dict[str, list[Outcome]]) -> int:
    """Print a table, and return the exit code."""
    for kind, own in sorted(outcomes.items()):
        endings: dict[str, int] = defaultdict(int)
        for outcome in own:
            endings[outcome.ending] += 1
        seconds = sorted(outcome.seconds for outcome in own)
        told = ", ".join(f"{ending} {number}" for ending, number in sorted(endings.items()))
        longest = max(outcome.whole for outcome in own)
        print(
            f"{kind:20} {len(own):4} runs; seconds: median {seconds[len(own) // 2]:.2f}, most {seconds[-1]:.2f}, until the process is gone "
            f"{longest:.2f}; {told}"
        )
    n_defects = sum(bool(outcome.defects) for own in outcomes.values() for outcome in own)
    print(f"{n_defects} of {sum(map(len, outcomes.values()))} runs had a defect.")
    return 1 if n_defects else 0


if __name__ == "__main__":
    main()
