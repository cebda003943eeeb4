"""An interrupt ends a fit that waits for Spark, and Spark drops what was under way."""

import pytest

from dpmondrian import DPM

from .helpers import interrupted_once, wait_until


@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_an_interrupt_cancels_what_spark_works_on(spark, tmp_path, kind, request):
    session = spark if kind == "spark" else request.getfixturevalue("connect")

    def block(batches, begun=str(tmp_path / "begun"), free=str(tmp_path / "free")):
        import os
        import time

        open(begun, "w").close()
        while os.path.exists(begun) and not os.path.exists(free):  # pytest may take the folder away first
            time.sleep(0.05)
        yield from batches

    table = session.createDataFrame([(20.0, 80.0)] * 100, "a double, b double").mapInArrow(block, "a double, b double")
    with interrupted_once(tmp_path / "begun"), pytest.raises(KeyboardInterrupt):
        DPM(bounds=(0, 100)).fit(table)
    wait_until(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds())
    assert not (tmp_path / "free").exists()
    (tmp_path / "free").touch()
