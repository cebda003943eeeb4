"""The last words of a command that is stopped, while the command itself unwinds beside them."""

import signal
import subprocess
import sys

_STOPPED = """
import signal
from dpmondrian.cli.stopping import Command

command = Command()

def progress():
    command.notes.clear()  # as the command does when it stops at the same moment
    return "Note: progress is saved."

command.notes += [lambda: "Note: the budget was charged.", progress]
command.end(signal.SIGINT)
"""


def test_a_command_that_drops_its_notes_while_they_are_told_loses_none():
    done = subprocess.run([sys.executable, "-c", _STOPPED], capture_output=True, text=True, timeout=600)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.splitlines() == [
        "Note: progress is saved.",
        "Note: the budget was charged.",
        "Stopped. Nothing was written.",
    ]
