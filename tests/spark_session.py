"""A Spark session of the tests; where there is none, a skip that says why."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec

import pytest


def check_spark():
    """Skip where there is no Spark."""
    if find_spec("pyspark") is None:
        pytest.skip('PySpark is not installed; run: pip install "evosplit-plugins[spark]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java, which Spark runs on; install openjdk-17-jre-headless")


def new_session(master, folder):
    """Start a session whose workers run this Python, and that leaves nothing behind but in a folder."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName("tests of evosplit")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),  # for workers, as conftest.py says
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
