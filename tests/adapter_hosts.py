"""The same samples in the form of every host, for the contract that all adapters keep."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@dataclass(frozen=True)
class Sample:
    """One sample, as every host knows it: a file, its labels (repeats count), a clip, the weather, perhaps an id."""

    name: str
    labels: tuple[str, ...]
    clip: str | None = None
    weather: str = "sun"
    id: int | str | None = None


def samples(n=40):
    """Make samples with repeated instances, empty ones, clips, and names and labels that need care."""
    kinds = [("cat", "cat", "dog"), ("dog",), (), ("möwe🐦", "cat"), ("cat",), ("dog", "möwe🐦", "möwe🐦", "möwe🐦")]
    return [
        Sample(
            name=f"{'ä ö' if number % 7 == 0 else 'pic'}{number:03}.jpg",
            labels=kinds[number * number % len(kinds)],
            clip=None if number % 5 == 4 else f"clip {number // 3}",
            weather=("sun", "rain", "snow")[number % 3],
        )
        for number in range(n)
    ]


@dataclass
class Host(ABC):
    """How a test gives samples to an adapter and reads the subsets back.

    Attributes
    ----------
    folder
        Where files go.
    reading
        Reading options that the adapter needs for this data.
    is_ours
        Whether the adapter comes with EvoSplit.
    has_fields
        Whether samples have fields of any name; else they have one, their folder.
    in_files
        Whether subsets are written into a directory.
    reading_ids
        The reading options for the ids of the samples; None where the host gives ids of its own.
    """

    folder: Path
    reading: dict = field(default_factory=dict)

    name = ""
    is_ours = has_fields = in_files = True
    reading_ids = None

    @classmethod
    def made(cls, folder, request):
        """Make one in a folder; `request` is that of pytest, for what the host needs of fixtures."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    @abstractmethod
    def write(self, data, name="data"):
        """Write samples natively; returns what the adapter reads."""

    @abstractmethod
    def write_subsets(self, parts):
        """Write samples that are divided already, by subset; returns what the adapter reads."""

    @abstractmethod
    def subsets(self, output, names):
        """Read back which file is in which subset."""

    def output(self, path):
        """Give what a command is told of where to write."""
        return path if self.in_files else None

    def written(self, output):
        """Give what the adapter reads of subsets that it has written."""
        return [str(output)]

    def in_order(self, data):
        """Give samples in the order in which the adapter reads them."""
        return data

    def adapter(self):
        """Load the adapter."""
        from evosplit_plugins.registry import get_adapter

        return get_adapter(self.name)

    def functions(self):
        """Load the functions for Python, by what they do."""
        home = import_module(f"evosplit_plugins.{self.name}")
        return {
            "count": home.read_counts,
            "split": getattr(home, f"evosplit_{self.name}"),
            "apply": home.apply_split,
            "audit": home.audit,
        }

    def for_python(self, paths):
        """Give what these functions take, of what `write` or `write_subsets` returned."""
        return paths


class Coco(Host):
    """An annotation file, with image ids that are no row numbers."""

    name = "coco"
    reading_ids = {}  # noqa: RUF012

    def __init__(self, folder):
        pytest.importorskip("msgspec")
        super().__init__(folder)

    def write(self, data, name="data"):
        labels = sorted({label for sample in data for label in sample.labels})
        ids = [700 + number if sample.id is None else sample.id for number, sample in enumerate(data)]
        images = [
            {"id": own, "file_name": sample.name, "weather": sample.weather}
            | ({} if sample.clip is None else {"clip": sample.clip})
            for own, sample in zip(ids, data, strict=True)
        ]
        annotations = [
            {"image_id": own, "category_id": labels.index(label)}
            for own, sample in zip(ids, data, strict=True)
            for label in sample.labels
        ]
        content = {
            "images": images,
            "annotations": [{"id": number, **each} for number, each in enumerate(annotations)],
            "categories": [{"id": number, "name": label} for number, label in enumerate(labels)],
        }
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        return [str(path)]

    def write_subsets(self, parts):
        every = sorted({label for data in parts.values() for sample in data for label in sample.labels})
        paths = []
        for name, data in parts.items():
            (path,) = self.write(data, name)
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            names = [category["name"] for category in content["categories"]]
            first = 1000 * len(paths)  # files that are merged share no id
            for image in content["images"]:
                image["id"] += first
            for annotation in content["annotations"]:
                annotation["category_id"] = every.index(names[annotation["category_id"]])
                annotation["image_id"] += first
                annotation["id"] += first
            content["categories"] = [{"id": number, "name": label} for number, label in enumerate(every)]
            Path(path).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
            paths.append(path)
        return paths

    def subsets(self, output, names):
        found = {}
        for name in names:
            path = output / "annotations" / (f"{name}.json" if name.startswith("fold") else f"instances_{name}.json")
            content = json.loads(path.read_text(encoding="utf-8"))
            found |= {image["file_name"]: name for image in content["images"]}
        return found


class HuggingFace(Host):
    """A directory of `save_to_disk`."""

    name = "hf"
    reading_ids = {"key": "own_id"}  # noqa: RUF012

    def __init__(self, folder):
        pytest.importorskip("datasets")
        super().__init__(folder, {"label_column": "labels"})

    def _dataset(self, data):
        from datasets import Dataset, Features, Sequence, Value

        features = Features(
            {
                "file_name": Value("string"),
                "labels": Sequence(Value("string")),
                "clip": Value("string"),
                "weather": Value("string"),
            }
        )
        rows = {
            "file_name": [sample.name for sample in data],
            "labels": [list(sample.labels) for sample in data],
            "clip": [sample.clip for sample in data],
            "weather": [sample.weather for sample in data],
        }
        if all(sample.id is not None for sample in data) and data:
            rows["own_id"] = [sample.id for sample in data]
            features["own_id"] = Value("string" if isinstance(data[0].id, str) else "int64")
        return Dataset.from_dict(rows, features=features)

    def write(self, data, name="data"):
        path = self.folder / name
        self._dataset(data).save_to_disk(str(path))
        return [str(path)]

    def write_subsets(self, parts):
        from datasets import DatasetDict

        path = self.folder / "divided"
        DatasetDict({name: self._dataset(data) for name, data in parts.items()}).save_to_disk(str(path))
        return [str(path)]

    def for_python(self, paths):
        from datasets import load_from_disk

        return load_from_disk(paths[0])

    def subsets(self, output, names):
        from datasets import load_from_disk

        found = {}
        for name in names:
            part = load_from_disk(str(output / name))["test"] if name.startswith("fold") else None
            part = load_from_disk(str(output))[name] if part is None else part
            found |= dict.fromkeys(part["file_name"], name)
        return found


class FiftyOne(Host):
    """A dataset in FiftyOne's database."""

    name = "fiftyone"
    in_files = False

    def __init__(self, folder, fiftyone, new_dataset):
        super().__init__(folder, {"label_field": ("gt",)})
        self.fo, self.new_dataset = fiftyone, new_dataset

    @classmethod
    def made(cls, folder, request):
        return cls(folder, request.getfixturevalue("fiftyone"), request.getfixturevalue("new_dataset"))

    def written(self, output):
        return [self.dataset.name]

    def _samples(self, data, tags=()):
        def boxes(names):
            box = [0.1, 0.1, 0.2, 0.2]
            made = [self.fo.Detection(label=name, bounding_box=box) for name in names]
            return self.fo.Detections(detections=made)

        return [
            self.fo.Sample(
                filepath=str(self.folder / sample.name),
                tags=list(tags),
                gt=boxes(sample.labels),
                clip=sample.clip,
                weather=sample.weather,
            )
            for sample in data
        ]

    def write(self, data, name="data"):
        self.dataset = self.new_dataset(self._samples(data))
        return [self.dataset.name]

    def write_subsets(self, parts):
        self.dataset = self.new_dataset([s for name, data in parts.items() for s in self._samples(data, [name])])
        return [self.dataset.name]

    def functions(self):
        from evosplit_plugins.fiftyone_plugin import api

        verbs = {"count": "read_counts", "split": "evosplit_fiftyone", "apply": "apply_split", "audit": "audit"}
        return {verb: getattr(api, name) for verb, name in verbs.items()}

    def for_python(self, paths):
        return self.dataset

    def subsets(self, output, names):
        self.dataset.reload()
        tagged = zip(self.dataset.values("filepath"), self.dataset.values("tags"), strict=True)
        return {Path(path).name: tag for path, tags in tagged for tag in tags if tag in names}


class Yolo(Host):
    """Images with label files, a list that names them, and a yaml file."""

    name = "yolo"
    has_fields = False

    def __init__(self, folder):
        pytest.importorskip("yaml")
        super().__init__(folder)

    def _images(self, data, root, labels):
        """Write images and labels, each label as a box of its own."""
        for sample in data:
            for name in ("images", "labels"):
                (root / name / sample.name).parent.mkdir(parents=True, exist_ok=True)
            (root / "images" / sample.name).write_bytes(sample.name.encode())
            lines = [f"{labels.index(label)} 0.5 0.5 0.1 0.{k + 1}\n" for k, label in enumerate(sample.labels)]
            (root / "labels" / sample.name).with_suffix(".txt").write_text("".join(lines), encoding="utf-8")

    def write_subsets(self, parts, name="divided"):
        root = self.folder / name
        labels = sorted({label for data in parts.values() for sample in data for label in sample.labels})
        described = [f"names: {json.dumps(labels or ['none'], ensure_ascii=False)}\n"]
        root.mkdir(exist_ok=True)
        for subset, data in parts.items():
            self._images(data, root, labels)
            lines = [f"./images/{sample.name}\n" for sample in data]
            (root / f"{subset}.txt").write_text("".join(lines), encoding="utf-8")
            described.append(f"{subset}: {subset}.txt\n")
        (root / "data.yaml").write_text("".join(described), encoding="utf-8")
        return [str(root / "data.yaml")]

    def write(self, data, name="data"):
        return self.write_subsets({"train": data}, name)

    def subsets(self, output, names):
        lines = {name: (output / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in names}
        return {Path(line).name: name for name in names for line in lines[name]}


class Table(Host):
    """A parquet file, read by DuckDB; its rows are split in the order of their ids."""

    name = "table"
    reading_ids = {"id_column": "own_id"}  # noqa: RUF012

    def __init__(self, folder):
        pytest.importorskip("duckdb")
        super().__init__(folder, {"id_column": "file_name"})

    def in_order(self, data):
        return sorted(data, key=lambda sample: sample.name)

    def _table(self, data, subsets=None):
        import pyarrow as pa

        text = pa.string()
        columns = {
            "file_name": pa.array([sample.name for sample in data], text),
            "labels": pa.array([list(sample.labels) for sample in data], pa.list_(text)),
            "clip": pa.array([sample.clip for sample in data], text),
            "weather": pa.array([sample.weather for sample in data], text),
        }
        if all(sample.id is not None for sample in data) and data:
            columns["own_id"] = pa.array([sample.id for sample in data])
        return pa.table(columns if subsets is None else {**columns, "split": pa.array(subsets, text)})

    def write(self, data, name="data"):
        import pyarrow.parquet as pq

        path = self.folder / f"{name}.parquet"
        pq.write_table(self._table(data), path)
        return [str(path)]

    def write_subsets(self, parts):
        import pyarrow.parquet as pq

        path = self.folder / "divided.parquet"
        data = [sample for each in parts.values() for sample in each]
        pq.write_table(self._table(data, [name for name, each in parts.items() for _ in each]), path)
        return [str(path)]

    def subsets(self, output, names):
        import pyarrow.parquet as pq

        (path,) = output.glob("*.parquet")
        rows = pq.read_table(path).to_pylist()
        return {row["file_name"]: row.get("split", row.get("fold")) for row in rows}


class OwnFormat(Host):
    """The made-up format of the example."""

    name = "tags"
    is_ours = has_fields = False

    def write(self, data, name="data"):
        path = self.folder / f"{name}.tags"
        lines = [f"{sample.name}: {' '.join(sample.labels)}\n" for sample in data]
        path.write_text("".join(lines), encoding="utf-8")
        return [str(path)]

    def write_subsets(self, parts):
        return [path for name, data in parts.items() for path in self.write(data, name)]

    def subsets(self, output, names):
        lines = {name: (output / f"{name}.tags").read_text(encoding="utf-8").splitlines() for name in names}
        return {line.partition(":")[0]: name for name in names for line in lines[name]}

    def written(self, output):
        return sorted(map(str, output.glob("*.tags")))

    def adapter(self):
        sys.path.insert(0, str(EXAMPLES))
        try:
            from own_format import TagsAdapter
        finally:
            sys.path.remove(str(EXAMPLES))
        return TagsAdapter()


HOSTS = {host.name: host for host in (Coco, Yolo, HuggingFace, Table, FiftyOne, OwnFormat)}


def label_counts(data):
    """Count the labels of each sample, by file name: what every adapter has to read."""
    return {sample.name: dict(Counter(sample.labels)) for sample in data}
