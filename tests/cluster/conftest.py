"""A Spark with two executors and a Dask with two workers, each a process of its own, started once and ended after the last test here.

Tests that kill workers of Dask have a Dask of their own.

Files of tests begin with test_spark or test_dask: that is how pytest-xdist gives them to the process with that cluster.
"""

import os
import re
import secrets
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

LOGGING = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
"""
"""Of Spark: driver and executors write what went wrong to one file, and nothing else."""

ON_A_BUSY_MACHINE = {
    "distributed.worker.profile.enabled": False,  # it looks a hundred times a second what goes on
    # Dask gives workers up that do not come back, connect or answer in time; here each of them may take its time.
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.comm.timeouts.connect": "10 minutes",
    "distributed.comm.timeouts.tcp": "10 minutes",
    "distributed.scheduler.worker-ttl": None,
}

ROOT = Path(__file__).parents[2]
"""Functions of tests are found there by name; and beside it the package that is tested, whichever is installed."""


def pytest_collection_modifyitems(items):
    """Overlook what PySpark says about new versions of pandas at every call."""
    for item in items:
        if "spark" in item.fixturenames:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
            )


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """Return a Spark session on two executors, which also serves Spark Connect; everything on the loopback interface."""
    require_java()
    pyspark = pytest.importorskip("pyspark", reason="Needs the extra 'spark'.")
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    for name in ("bin", "jars", "python"):  # executors write below SPARK_HOME, so that must not be the package
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    for name in ("conf", "temporary"):
        (home / name).mkdir()
    (home / "conf" / "log4j2.properties").write_text(LOGGING.format(file=home / "errors.log"))
    # The tests are short: a compiler that begins soon is worth more than one that optimises, and classes are not verified.
    java_options = (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    )
    java_options += f" -Djava.io.tmpdir={home / 'temporary'}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": java_options,
        "spark.executor.extraJavaOptions": java_options,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src"))),
        "spark.python.daemon.module": "tests.cluster.spark_daemon",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.shuffle.partitions": "4",
        # A few rows are interpreted in less time than it takes to compile Java for them.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(home))
        patch.setenv("SPARK_CONF_DIR", str(home / "conf"))
        patch.setenv("SPARK_LOCAL_DIRS", str(home / "temporary"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", secrets.token_hex(16))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        java = session.sparkContext._gateway.proc
        yield session
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it may be the end of a test that has nothing to do with Spark
            session.stop()
            session.sparkContext._gateway.shutdown()
            java.stdin.close()  # upon which Java ends
            java.wait(timeout=600)


def require_java():
    """Skip the test where there is no Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which(Path(home, "bin", "java"))
    said = (
        "" if java is None else subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    )
    version = re.search(r' version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        pytest.skip("Spark needs Java 17 or newer: apt-get install openjdk-17-jre-headless, or set JAVA_HOME.")


@pytest.fixture(scope="package")
def connect(spark):
    """Return a session of Spark Connect on the same two executors."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect].")
    from pyspark.sql.connect.session import SparkSession

    service = getattr(spark._jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    port = getattr(service, "MODULE$").bindingAddress().getPort()
    token = os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"]
    # With a token, only the name localhost goes without encryption.
    session = SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}").getOrCreate()
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture
def spark_logs(spark):
    """Return a function that gives all that Spark's driver and executors have written to files."""
    home = Path(os.environ["SPARK_HOME"])

    def so_far():
        files = [home / "errors.log", *home.glob("work/*/*/std*")]
        return "\n".join(file.read_text(errors="replace") for file in files if file.exists())

    return so_far


@pytest.fixture
def executors(spark):
    """Return a function that lists the running executors of Spark, as processes."""
    import psutil

    def is_executor(process):
        try:
            return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
        except psutil.NoSuchProcess:  # it has just ended
            return False

    def running():
        return [
            child for child in psutil.Process(spark.sparkContext._gateway.proc.pid).children() if is_executor(child)
        ]

    return running


@contextmanager
def dask_of_two_workers(folder):
    """Yield a client of two Dask workers, which are processes; everything on the loopback interface."""
    distributed = pytest.importorskip("dask.distributed", reason="Needs the extra 'dask'.")
    import dask

    with (
        dask.config.set(ON_A_BUSY_MACHINE),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit="2GiB",
            local_directory=str(folder),
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def dask_client(tmp_path_factory):
    """Return a client of two Dask workers, of which no test kills one."""
    with dask_of_two_workers(tmp_path_factory.mktemp("dask")) as client:
        yield client


@pytest.fixture
def mortal_dask_client(tmp_path):
    """Return a client of two Dask workers of this test alone, which may kill them: no other test depends on whether they come back."""
    with dask_of_two_workers(tmp_path / "dask") as client:
        yield client
