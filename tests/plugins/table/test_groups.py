"""Groups by columns are never torn, held row by row or counted by the engine."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from table_rows import RATIOS

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.table import apply_split, evosplit_table, groups  # noqa: E402


@pytest.mark.parametrize("histogram", [False, True])
class TestGroups:
    """In both forms of a table."""

    def test_groups(self, table, histogram):
        """A group is never torn; rows without one are on their own."""
        made, split = evosplit_table(table, RATIOS, group_by="clip", histogram=histogram)
        clips = {}
        for clip, subset in zip(table.column("clip").to_pylist(), made.column("split").to_pylist(), strict=True):
            if clip is not None:
                clips.setdefault(clip, set()).add(subset)
        assert all(len(each) == 1 for each in clips.values())
        assert split.sizes == (420, 120, 60)
        assert any(note.startswith("60 rows have no 'clip'") for note in split.notes)

    def test_two_kinds_of_groups(self, table, histogram):
        """Rows that share either value stay together."""
        other = pa.array([None if i % 50 else f"chain {i // 200}" for i in range(len(table))])
        linked = table.append_column("chain", other)
        made = evosplit_table(linked, RATIOS, group_by=["clip", "chain"], histogram=histogram).table.to_pydict()
        for name in ("clip", "chain"):
            found = {}
            for value, subset in zip(made[name], made["split"], strict=True):
                if value is not None:
                    found.setdefault(value, set()).add(subset)
            assert all(len(each) == 1 for each in found.values())

    def test_groups_with_locks(self, table, histogram):
        """A locked row takes its group along."""
        first = table.column("id").to_pylist()[1]
        made = evosplit_table(table, RATIOS, group_by="clip", locked={"val": [first]}, histogram=histogram).table
        rows = made.to_pydict()
        assert {b for a, b in zip(rows["clip"], rows["split"], strict=True) if a == "clip 0"} == {"val"}


def test_another_pick(table, tmp_path):
    """Every point of the front keeps groups whole, has the quotas that it tells, and is saved as it is."""
    split = evosplit_table(table, RATIOS, histogram=True, group_by="clip", seed=1).split
    assert len(split.front) > 1
    for point in range(len(split.front)):
        picked = split.pick(point)
        picked.save(tmp_path / "split.json")
        rows = apply_split(table, picked).table.to_pylist()
        assert rows == apply_split(table, tmp_path / "split.json").table.to_pylist()
        whole = {(row["clip"], row["split"]) for row in rows if row["clip"] is not None}
        assert len(whole) == len({clip for clip, _ in whole})
        found = Counter((json.dumps(sorted(row["labels"]), ensure_ascii=False), row["split"]) for row in rows)
        told = zip(picked.sample_ids.tolist(), picked.table.tolist(), strict=True)
        assert found == +Counter({(cell, name): n for cell, each in told for name, n in zip(RATIOS, each, strict=True)})


@pytest.mark.parametrize(
    ("most", "message"),
    [
        (99, r"101 groups with more than 99 different label sets in them would"),
        (400, r"group_by='clip': 60 rows without a group, each of which is one of its own, would take more than 0 GiB"),
    ],
)
def test_too_many(table, monkeypatch, most, message):
    """More than one machine takes: refused with their number and an estimate, before any search."""
    monkeypatch.setattr(groups, "MOST_IN_GROUPS", most)
    with pytest.raises(EvoSplitError, match=message):
        evosplit_table(table, RATIOS, histogram=True, group_by="clip")


@pytest.mark.parametrize("histogram", [False, True])
class TestNamesOfGroups:
    """What names groups means the same in both forms of a table."""

    def test_whole_numbers(self, table, histogram):
        """Whole floats are integers; where there is no number, there is no group."""
        clips = [float("nan") if i % 10 == 0 else None if i % 10 == 1 else float(i // 6) for i in range(len(table))]
        made, split = evosplit_table(
            table.append_column("number", pa.array(clips)), RATIOS, group_by="number", histogram=histogram
        )
        whole = {
            (clip, subset) for clip, subset in zip(clips, made.column("split").to_pylist(), strict=True) if clip == clip
        }
        assert len({clip for clip, _ in whole if clip is not None}) == len(
            [clip for clip, _ in whole if clip is not None]
        )
        assert "120 rows have no 'number', so each is a group of its own." in split.notes

    @pytest.mark.parametrize("number", [1.5, float("inf")])
    def test_other_numbers(self, table, histogram, number):
        """Other numbers name no group."""
        made = table.append_column("number", pa.array([number, *[2.0] * (len(table) - 1)]))
        with pytest.raises(EvoSplitError, match=rf"group_by='number' gives '{number}' for a sample"):
            evosplit_table(made, RATIOS, group_by="number", histogram=histogram)

    def test_no_row_has_a_group(self, table, histogram):
        """A column without any value is refused."""
        made = table.append_column("empty", pa.nulls(len(table), pa.int64()))
        with pytest.raises(EvoSplitError, match="group_by='empty': no sample has a value there; name another field"):
            evosplit_table(made, RATIOS, histogram=histogram, group_by="empty")
