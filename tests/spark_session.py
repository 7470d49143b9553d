"""A Spark session of the tests; where there is none, a skip that says why, or a failure where it has to be there."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec

import pytest

REQUIRE = "EVOSPLIT_REQUIRE_SPARK"  # "1" where a test that is skipped is a failure


def check_spark():
    """Skip, or fail where Spark has to be there."""
    reason = None
    if find_spec("pyspark") is None:
        reason = 'PySpark is not installed; run: pip install "evosplit-plugins[spark]"'
    elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        reason = "there is no Java, which Spark runs on; install openjdk-17-jre-headless"
    if reason is not None:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{reason}, and {REQUIRE}=1 asks for it")
        pytest.skip(reason)


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
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
