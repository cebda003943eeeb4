"""Spark's daemon of Python workers, which has loaded what they need before it forks them: each would take two seconds for it."""

import gc

import pandas as pd
import pyarrow as pa
from pyspark.daemon import manager
from pyspark.sql.pandas import serializers  # noqa: F401

from dpmondrian.engines import on_spark  # noqa: F401
from dpmondrian.tables import Reader

if __name__ == "__main__":
    Reader().table(pa.table({"x": [0.0]}))  # which loads the rest
    pd.DataFrame()
    gc.freeze()  # or a worker would look through all of it after every task
    manager()
