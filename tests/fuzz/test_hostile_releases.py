"""A release from a stranger cannot fill the memory, keep the machine busy, or run anything."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LITTLE_MEMORY = 200
"""Megabytes beyond what the process has after its imports and a first release."""
ENDLESS = 600
"""Seconds for all of them, of which they need a few: whoever is caught in one does not come back in this time."""
SOUND = {"nothing wrong"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are set as on Linux")
def test_hostile_releases_are_refused_with_little_memory_in_little_time(releases, tmp_path):
    (tmp_path / "valid.json").write_text(releases["numbers"])
    script = Path(__file__).with_name("hostile_releases.py")
    command = [sys.executable, str(script), str(tmp_path / "valid.json"), str(LITTLE_MEMORY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=ENDLESS)
    results = json.loads(done.stdout)
    allowed = {name: ("refused", "used") if name in SOUND else ("refused",) for name in results}
    assert {name: found for name, found in results.items() if found not in allowed[name]} == {}
    assert results["nothing wrong"] == "used"
    assert len(results) > 20
