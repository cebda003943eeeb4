"""``dpm fetch``: what it lists, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest


def dpm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpmondrian", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.slow
def test_fetch_lists_the_data_sets_and_refuses_unknown_ones():
    listed = dpm("fetch")
    assert listed.returncode == 0
    assert "uci_letters" in listed.stdout
    unknown = dpm("fetch", "uci_leters")
    assert unknown.returncode == 2
    assert "Did you mean uci_letters" in " ".join(unknown.stderr.split())
    assert "Traceback" not in unknown.stderr
