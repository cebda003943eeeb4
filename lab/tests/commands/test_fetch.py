"""``dpm fetch``: what it lists, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpmondrian.cli.main import main


@pytest.mark.slow
def test_fetch_lists_the_data_sets():
    command = [sys.executable, "-m", "dpmondrian", "fetch"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert listed.returncode == 0
    assert "uci_letters" in listed.stdout


def test_fetch_refuses_unknown_ones(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dpm", "fetch", "uci_leters"])
    with pytest.raises(SystemExit) as leaving:
        main()
    told = capsys.readouterr().err
    assert leaving.value.code == 2
    assert "Did you mean uci_letters" in " ".join(told.split())
    assert "Traceback" not in told
