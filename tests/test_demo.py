import json

from dpmondrian import DPM
from dpmondrian.demo import main


def test_the_demo_prints_what_may_be_published_and_writes_it(tmp_path, capsys):
    main(tmp_path)
    printed = capsys.readouterr().out
    for part in ("clusters", "Rules", "people", "Differential privacy with epsilon = 1", "Not protected"):
        assert part in printed
    assert json.loads((tmp_path / "release.json").read_text())["privacy"]["releasable"] is True
    assert (tmp_path / "clusters.png").read_bytes().startswith(b"\x89PNG")
    assert DPM.load(tmp_path / "release.json").predict([[50.0, 50.0]]).shape == (1,)
