"""Dask with two workers and Spark with two executors, each a process of its own on this machine."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EXECUTOR_MEMORY = 2048
"""MiB for each executor of Spark; its Python workers are not part of it."""


@contextmanager
def dask_cluster() -> Iterator[None]:
    """Make two workers current."""
    from dask.distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            local_directory=folder,
            silence_logs="CRITICAL",
        ) as cluster,
        Client(cluster),
    ):
        yield


@contextmanager
def spark_session() -> Iterator[Any]:
    """Yield a session on two executors. The environment of this process is changed."""
    import pyspark
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("bin", "jars", "python"):  # executors write below SPARK_HOME, so that must not be the package
            (home / name).symlink_to(Path(pyspark.__file__).parent / name)
        (home / "conf").mkdir()
        (home / "conf" / "log4j2.properties").write_text("rootLogger.level = off\n")
        os.environ |= {
            "SPARK_HOME": folder,
            "SPARK_CONF_DIR": str(home / "conf"),
            "SPARK_LOCAL_DIRS": folder,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        builder = SparkSession.builder.master(f"local-cluster[2,1,{EXECUTOR_MEMORY}]").appName("scale")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": f"{EXECUTOR_MEMORY}m",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
        }
        session = builder.config(map=settings).getOrCreate()
        java = session.sparkContext._gateway.proc
        try:
            yield session
        finally:
            session.stop()
            session.sparkContext._gateway.shutdown()
            java.stdin.close()  # upon which Java ends; until then it writes to the folder
            java.wait(timeout=60)
