"""The Spark of these tests is what it should be: two executors, with and without Spark Connect."""

import pyarrow as pa


def process_of_task(batches):
    """Return the rows of a task, and its executor: the process that started the one that started this one."""
    import psutil

    n_rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"n_rows": [n_rows], "executor": [psutil.Process().parent().ppid()]})


def tasks(session, together=False):
    rows = session.range(0, 1000, 1, 2)
    return rows.mapInArrow(process_of_task, "n_rows long, executor long", barrier=together).toArrow()


def test_spark_has_two_executors_with_and_without_connect(spark, connect, executors):
    for session in (spark, connect):
        done = tasks(session, together=True)
        assert sum(done["n_rows"].to_pylist()) == 1000
        assert set(done["executor"].to_pylist()) == {executor.pid for executor in executors()}
    assert len(executors()) == 2
