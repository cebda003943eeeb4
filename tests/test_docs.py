"""Code on the pages of the guide runs as it is printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.slow
def test_the_page_on_preprocessing(tmp_path, monkeypatch, capsys):
    generator = np.random.default_rng(0)
    old = np.arange(4000) % 2 == 1
    table = pd.DataFrame(
        {"age": np.where(old, 70, 30), "income": np.exp(np.where(old, 10, 8) + generator.normal(size=4000) / 9)}
    )
    names = {"table": table, "rows": table.to_numpy(dtype=float)}
    monkeypatch.chdir(tmp_path)
    for block in blocks("preprocessing.md", "python"):
        exec(block, names)
    assert capsys.readouterr().out == "spent\n"
    assert names["harmless"][-1].n_clusters_ >= 1
    assert [entry.epsilon for entry in names["budget"].read().entries] == [1.0]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="Needs OpenSSH.")
def test_the_page_for_officers_signs_and_verifies(tmp_path):
    """Its own commands, with another key; a release that was changed does not have the signed digest."""
    (tmp_path / "published").mkdir()
    DPM(bounds=(0, 100), max_depth=1).fit(np.full((50, 1), 20.0)).save(tmp_path / "published" / "release.json")
    dpm = tmp_path / "dpm"
    dpm.write_text('#!/bin/sh\nexec "$PYTHON" -m dpmondrian "$@"\n')
    dpm.chmod(0o755)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (tmp_path / "signers").write_text(f"privacy@hospital.example {key.with_suffix('.pub').read_text()}")
    write, sign, verify = [block for block in blocks("officers.md", "sh") if "minisign" not in block]

    def run(text):
        text = text.replace("~/.ssh/id_ed25519", "key")
        return subprocess.run(
            text, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable},
        )  # fmt: skip

    for command in (write, sign):
        done = run(command)
        assert done.returncode == 0, done.stderr
    verify = verify.replace("release.json", "published/release.json").replace(
        "release.digest.sig", "published/release.digest.sig"
    )
    good = run(verify)
    assert (good.returncode, 'Good "dpmondrian" signature for privacy@hospital.example' in good.stdout) == (0, True)
    DPM(bounds=(0, 100), max_depth=1).fit(np.full((50, 1), 20.0)).save(tmp_path / "published" / "release.json")
    assert run(verify).returncode != 0
