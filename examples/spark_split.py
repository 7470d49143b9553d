"""A Spark table, split on the cluster: the driver sees kinds of rows, never the rows.

Runs in local mode; with a session of your own nothing else changes. Prints the sizes beside those of `randomSplit`, and
shows that another partitioning gives the same split.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers take another Python

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as Spark's own documentation has it)

from evosplit_plugins import evosplit_table

RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")

# Documents with zero to three topics; one in eight hundred is about volcanoes.
topic = "CASE WHEN pmod(hash(id, {0}), 800) = 0 THEN 'volcano' ELSE element_at(array('sport', 'trade', 'art', 'law'), "
topic += "1 + pmod(hash(id, {0}), 4)) END"
documents = (
    spark.range(20_000)
    .withColumn("all", F.expr(f"array({', '.join(topic.format(number) for number in range(3))})"))
    .withColumn("topics", F.expr("slice(all, 1, int(id % 4))"))
    .select(F.concat(F.lit("doc "), "id").alias("id"), "topics")
    .cache()
)

# A table of more than 100,000 rows is counted without being told to.
options = {"label_column": "topics", "histogram": True, "effort": "fast"}
made, split = evosplit_table(documents, RATIOS, **options)
made = made.cache()
print(split.report())

volcanoes = made.where(F.array_contains("topics", "volcano"))
print("documents:", dict(made.groupBy("split").count().collect()))
print("about volcanoes:", dict(volcanoes.groupBy("split").count().collect()))
print("randomSplit:", [part.count() for part in documents.randomSplit(list(RATIOS.values()), seed=0)])

other = evosplit_table(documents.repartition(7), RATIOS, **options).table
print("rows that move when the table is partitioned otherwise:", made.join(other, ["id", "split"], "left_anti").count())
spark.stop()
