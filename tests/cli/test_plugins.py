"""Commands that other distributions plug in: loaded when asked for, and named where they are missing."""

from __future__ import annotations

import pytest

from dpmondrian.cli.commands import LABORATORY

from .conftest import MAIN

WITHOUT_LAB = """
import sys, dpmondrian.cli.commands as plugins
sys.modules["dpmondrian_lab"] = None  # as if it were not installed: importing it fails
plugins.entry_points = lambda group: ()
"""
BROKEN_LAB = """
import sys
sys.modules["dpmondrian_lab"] = None  # installed, but it cannot be imported
"""
OTHER = """
import sys, types
from importlib.metadata import EntryPoint
import dpmondrian.cli.commands as plugins
other = types.ModuleType("other")
sys.modules["other"] = other
def greet(name: str) -> None:
    "Say hello."
    print(f"Hello, {name}.")
other.greet = greet
plugins.entry_points = lambda group: (
    EntryPoint("greet", "other:greet", group), EntryPoint("cluster", "other:greet", group)
)
"""


@pytest.fixture
def dpm(dpm_process):
    """Return a function that runs ``dpm`` in a process that was prepared for it."""
    return lambda *arguments, before="": dpm_process(*arguments, program=before + MAIN)


def headings(text: str) -> dict[str, list[str]]:
    """Return the first words of the lines under each heading of a help text."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
        elif line[:2] == "  " and line[2:3].strip():
            found.setdefault(heading, []).append(line.split()[0])
    return found


@pytest.mark.parametrize("before", ["", WITHOUT_LAB, BROKEN_LAB])
def test_the_laboratory_has_a_heading_of_its_own(dpm, before):
    found = headings(dpm("--help", before=before).out)
    assert found["Lab commands"] == sorted(LABORATORY)
    assert "cluster" in found["Commands"]
    assert not set(found["Commands"]) & set(LABORATORY)


@pytest.mark.parametrize("arguments", [(), ("--quick", "--out", "x"), ("table2",), ("--no-such-option",)])
@pytest.mark.parametrize("name", sorted(LABORATORY))
def test_without_the_laboratory_its_commands_say_how_to_get_it(dpm, name, arguments):
    done = dpm(name, *arguments, before=WITHOUT_LAB)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"Error: The command '{name}' is part of dpmondrian-lab, which is not installed. Install it with: "
        "pip install ./lab (in a clone of dpmondrian's repository)\n"
    )


def test_without_the_laboratory_help_says_the_same(dpm):
    done = dpm("audit", "--help", before=WITHOUT_LAB)
    assert done.code == 0
    assert "pip install ./lab" in " ".join(done.out.split())


def test_a_misspelt_command_of_a_missing_laboratory_is_suggested(dpm):
    done = dpm("repoduce", before=WITHOUT_LAB)
    assert done.code == 2
    assert "Did you mean 'reproduce'?" in done.err


def test_a_broken_plug_in_disturbs_only_its_own_command(dpm):
    done = dpm("audit", before=BROKEN_LAB)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: The command 'audit' cannot be loaded (ModuleNotFoundError).")
    assert dpm("plan", "--help", before=BROKEN_LAB).code == 0


def test_another_distribution_can_add_a_command_and_replace_none(dpm):
    assert dpm("greet", "Ada", before=OTHER).out == "Hello, Ada.\n"
    assert "Say hello." in dpm("--help", before=OTHER).out
    assert "for publication" in dpm("cluster", "--help", before=OTHER).out


@pytest.mark.parametrize("command", ["cluster", "plan", "demo", "budget"])
def test_our_own_commands_never_look_for_plug_ins(dpm, command):
    code = (
        "import sys, dpmondrian.cli.commands as plugins\n"
        "def refused(group): raise AssertionError\n"
        "plugins.entry_points = refused\n"
    )
    done = dpm(command, "--help", before=code)
    assert (done.code, done.err) == (0, "")


def test_our_own_commands_import_nothing_of_the_laboratory(dpm_process):
    code = MAIN.replace("main()", "\ntry:\n    main()\nexcept SystemExit:\n    pass\n")
    code += "import sys; print([name for name in sys.modules if name.startswith('dpmondrian_lab')])"
    done = dpm_process("plan", "--rows", "1000", "--bounds", "age=0:120", program=code)
    assert done.out.splitlines()[-1] == "[]"
