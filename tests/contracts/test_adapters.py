"""What every adapter promises: the same data through any of them gives the same split, written whole or not at all."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import resource
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from adapter_hosts import HOSTS, label_counts, samples

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.manifest import manifest_schema
from evosplit_plugins.audit import audit
from evosplit_plugins.cli import main
from evosplit_plugins.options import options_of
from evosplit_plugins.registry import detect
from evosplit_plugins.request import Request
from evosplit_plugins.staging import RECORD, Staging, read_record
from evosplit_plugins.walk import apply_with, replay, run, split_with

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}


@pytest.fixture(params=HOSTS)
def host(request, tmp_path):
    """Give one host after the other."""
    return HOSTS[request.param].made(tmp_path / "host", request)


@pytest.fixture(params=[name for name, host in HOSTS.items() if host.is_ours])
def own_host(request, tmp_path):
    """Give the hosts of EvoSplit's own adapters."""
    return HOSTS[request.param].made(tmp_path / "host", request)


@pytest.fixture(params=[name for name, host in HOSTS.items() if host.has_fields])
def field_host(request, tmp_path):
    """Give the hosts whose samples have fields of any name."""
    return HOSTS[request.param].made(tmp_path / "host", request)


@pytest.fixture(params=[name for name, host in HOSTS.items() if not host.has_fields])
def folder_host(request, tmp_path):
    """Give the hosts whose samples have no field but their folder."""
    return HOSTS[request.param].made(tmp_path / "host", request)


@pytest.fixture(params=[name for name, host in HOSTS.items() if host.in_files])
def file_host(request, tmp_path):
    """Give the hosts whose subsets are written into a directory."""
    return HOSTS[request.param].made(tmp_path / "host", request)


@pytest.fixture(params=[name for name, host in HOSTS.items() if host.reading_ids is not None])
def id_host(request, tmp_path):
    """Give the hosts whose samples have ids of their own."""
    return HOSTS[request.param].made(tmp_path / "host", request)


def read(host, data=None, **options):
    """Read samples through the adapter of a host."""
    adapter = host.adapter()
    return adapter.read(host.write(samples() if data is None else data), adapter.reading(**host.reading, **options))


def split(host, request, output=None, data=None, **more):
    """Write samples, split and write them through the adapter of a host; returns the outcome."""
    adapter = host.adapter()
    paths = host.write(samples() if data is None else data)
    target = host.output(output)
    return split_with(adapter, paths, request, output=target, reading=adapter.reading(**host.reading), **more)


def by_file(made):
    """Give the subset of each file in a split."""
    names = [os.path.basename(name) for name in made.file_names]  # noqa: PTH119  (names, not paths of this machine)
    return dict(zip(names, (made.names[j] for j in made.assignment.tolist()), strict=True))


def reference(data=None, **options):
    """Split the samples with the engine alone."""
    data = samples() if data is None else data
    counts = LabelCounts.from_lists([list(sample.labels) for sample in data], ids=[sample.name for sample in data])
    made = evosplit.split(counts, RATIOS, **options)
    return made, dict(zip(made.sample_ids.tolist(), (made.names[j] for j in made.assignment.tolist()), strict=True))


def figures(made):
    """Give the report of a split without its sentences, which use the host's nouns, and without how it was made."""
    return {
        name: value for name, value in made.report().to_dict().items() if name not in ("summary", "settings", "notes")
    }


def tree(folder):
    """Hash all files below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def divide(host, paths, output, *, seed=0, **writing):
    """Divide data that is there at random, through the adapter of a host."""
    adapter = host.adapter()
    return split_with(
        adapter,
        paths,
        Request(ratios=RATIOS, method="random", seed=seed),
        output=output,
        reading=adapter.reading(**host.reading),
        writing=adapter.writing(**writing),
    )


def written(output):
    """Hash what an output holds; of the record, name the files that it lists."""
    found = tree(output)
    found[RECORD] = {name for run in read_record(output) for name in run.files}
    return found


class _Killed(BaseException):
    """Ends a run like SIGKILL: nobody cleans up."""


class TestReading:
    """What is read."""

    def test_counts(self, host):
        """Every label of every sample, repeats counted, samples without a label kept."""
        source = read(host)
        found = {
            os.path.basename(name): {  # noqa: PTH119
                source.counts.labels[j]: int(n) for j, n in zip(row.indices, row.data, strict=True)
            }
            for name, row in zip(source.files, (source.counts.matrix[[i]] for i in range(len(source))), strict=True)
        }
        assert found == label_counts(samples())
        assert source.adapter == host.adapter().name

    def test_nothing_to_read(self, host):
        """No sample at all is an error that says so."""
        adapter = host.adapter()
        with pytest.raises(EvoSplitError, match=r"nothing|no image|no rows|no sample|empty"):
            adapter.read(host.write([]), adapter.reading(**host.reading))

    def test_unknown_field(self, host):
        """A field that is not there is named."""
        source = read(host)
        for asked in ({"groups": ["nope"], "strata": []}, {"groups": [], "strata": ["nope"]}):
            with pytest.raises(EvoSplitError, match="nope"):
                source.fields(**asked)


class TestSplitting:
    """What is asked means the same everywhere."""

    def test_same_split_as_the_engine(self, host, tmp_path):
        """The same seed gives the same subsets, whichever adapter reads the data, and they are written so."""
        made, expected = reference(host.in_order(samples()), seed=3)
        outcome = split(host, Request(ratios=RATIOS, seed=3), tmp_path / "out")
        assert by_file(outcome.split) == expected
        assert host.subsets(tmp_path / "out", tuple(RATIOS)) == expected
        assert outcome.split.measures == made.measures
        assert figures(outcome.split) == figures(made)

    @pytest.mark.parametrize("ratios", [(0.6, 0.2, 0.2), (6, 2, 2), (24, 8, 8)], ids=str)
    def test_ratios_without_names(self, host, tmp_path, ratios):
        """Fractions, proportions and sizes; the host's own names."""
        outcome = split(host, Request(ratios=ratios, method="random"), tmp_path / "out")
        assert outcome.split.sizes == (24, 8, 8)
        assert outcome.split.names == host.adapter().default_names[3]

    def test_folds(self, host, tmp_path):
        """Folds are folds, in what is written too."""
        outcome = split(host, Request(folds=4, method="random"), tmp_path / "out")
        assert outcome.split.is_kfold
        assert outcome.split.sizes == (10, 10, 10, 10)
        assert host.subsets(tmp_path / "out", outcome.split.names) == by_file(outcome.split)

    def test_groups(self, field_host, tmp_path):
        """Samples of one clip stay together; those without a clip are on their own, and a note says how many."""
        outcome = split(field_host, Request(ratios=RATIOS, group_by="clip"), tmp_path / "out")
        placed = by_file(outcome.split)
        clips = {}
        for sample in samples():
            if sample.clip is not None:
                clips.setdefault(sample.clip, set()).add(placed[sample.name])
        assert all(len(subsets) == 1 for subsets in clips.values())
        data = field_host.in_order(samples())
        expected = reference(data, groups=[sample.clip for sample in data])[1]
        assert placed == expected
        alone = sum(sample.clip is None for sample in samples())
        said = f"{alone} {field_host.adapter().nouns.samples} have no 'clip'"
        assert any(note.startswith(said) for note in outcome.split.notes)
        assert outcome.split.settings["group_by"] == ["clip"]

    def test_group_regex(self, host):
        """The text that a pattern finds in file names makes groups."""
        source = read(host)
        made = run(source, Request(ratios=RATIOS, group_regex=r"(\d)\.jpg"), adapter=host.adapter())
        by_digit = {}
        for name, subset in by_file(made).items():
            by_digit.setdefault(name[-5], set()).add(subset)
        assert all(len(subsets) == 1 for subsets in by_digit.values())

    def test_strata(self, field_host, tmp_path):
        """A field is balanced like the engine's own strata."""
        outcome = split(field_host, Request(ratios=RATIOS, stratify_by=["weather"]), tmp_path / "out")
        data = field_host.in_order(samples())
        strata = {"weather": [sample.weather for sample in data]}
        assert by_file(outcome.split) == reference(data, strata=strata)[1]

    def test_folders(self, folder_host):
        """Where the only field is the folder, it makes groups and is balanced like those of the engine."""
        data = folder_host.in_order(
            [replace(each, name=f"{each.weather}{n % 4}/{each.name}") for n, each in enumerate(samples())]
        )
        source = read(folder_host, data)
        folders = [os.path.dirname(name) for name in source.files]  # noqa: PTH120  (names, not paths of this machine)
        assert len(set(folders)) == 12
        for asked, taken in (
            ({"group_by": "folder"}, {"groups": folders}),
            ({"stratify_by": "folder"}, {"strata": {"folder": folders}}),
        ):
            made = run(source, Request(ratios=RATIOS, **asked), adapter=folder_host.adapter())
            assert made.assignment.tolist() == reference(data, **taken)[0].assignment.tolist()

    def test_copies_stay_together(self, field_host, tmp_path):
        """Two samples of one picture never part, unless that is asked for; a note says how many there are."""
        data = samples()
        data += [replace(sample, name=f"./{sample.name}") for sample in data[:6]]
        if field_host.name == "fiftyone":
            data = [replace(sample, name=sample.name.removeprefix("./")) for sample in data]
        source = read(field_host, data)
        made = run(source, Request(ratios=RATIOS), adapter=field_host.adapter())
        subset_of = {}
        for name, j in zip(made.file_names, made.assignment.tolist(), strict=True):
            subset_of.setdefault(os.path.basename(name), set()).add(j)  # noqa: PTH119
        assert all(len(subsets) == 1 for subsets in subset_of.values())
        assert any("12 " in note and "copies of 6 pictures" in note for note in made.notes)
        loose = run(source, Request(ratios=RATIOS, group_copies=False, method="random"), adapter=field_host.adapter())
        assert not any("copies of" in note for note in loose.notes)


class TestLocks:
    """Samples that are already placed."""

    def test_by_a_list_of_files(self, host, tmp_path):
        """A text file names them, in the words of any host."""
        names = [sample.name for sample in samples()[:5]]
        (tmp_path / "test.txt").write_text("".join(f"./{name}\n" for name in names), encoding="utf-8")
        source = read(host)
        made = run(source, Request(ratios=RATIOS, locked={"test": tmp_path / "test.txt"}), adapter=host.adapter())
        assert {by_file(made)[name] for name in names} == {"test"}

    def test_by_ids(self, host):
        """Ids name them."""
        source = read(host)
        ids = source.counts.ids.tolist()[:5]
        made = run(source, Request(ratios=RATIOS, locked={"val": ids}), adapter=host.adapter())
        assert set(made.assignment[:5].tolist()) == {1}

    def test_subsets_that_are_there(self, host):
        """The name of a subset that the data has already keeps it."""
        data = samples()
        adapter = host.adapter()
        paths = host.write_subsets({"train": data[:30], "test": data[30:37]})
        source = adapter.read(paths, adapter.reading(**host.reading))
        made = run(source, Request(ratios=RATIOS, locked=["test"]), adapter=adapter)
        placed = by_file(made)
        assert {sample.name for sample in data[30:37]} == {name for name, subset in placed.items() if subset == "test"}

    @pytest.mark.parametrize(
        ("locked", "message"),
        [
            ({"nowhere": []}, "locked= names the subset 'nowhere'; the subsets of this split are train, val, test"),
            ({"test": ["no such id"]}, r"1 of 1 samples are not in the data"),
            (["val"], "val"),
            ({"test": "missing.txt"}, "cannot read"),
        ],
        ids=str,
    )
    def test_wrong_locks(self, host, locked, message):
        """What cannot be is refused, with the name of it."""
        source = read(host)
        with pytest.raises(EvoSplitError, match=message):
            run(source, Request(ratios=RATIOS, locked=locked), adapter=host.adapter())

    def test_too_many(self, host):
        """More locked samples than a subset should have: it is said, and they stay."""
        source = read(host)
        ids = source.counts.ids.tolist()[:12]
        with pytest.warns(evosplit.EvoSplitWarning, match="12 samples are locked into 'test', 4 more than"):
            made = run(source, Request(ratios=RATIOS, locked={"test": ids}), adapter=host.adapter())
        assert made.sizes[2] == 12


class TestBadRequests:
    """Refused before anything is written, and the sources stay as they are."""

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"ratios": {"train": 0.5, "test": 0.6}}, "sum to 1.1"),
            ({"ratios": {"train": 0.5}}, "1 subset makes no split"),
            ({"folds": 1}, "folds=1 makes no split"),
            ({"ratios": RATIOS, "group_by": "nope"}, "nope"),
            ({"ratios": RATIOS, "group_regex": "("}, "is no regular expression"),
            ({"ratios": RATIOS, "group_regex": "zzz"}, "finds no text in any file name"),
            ({"ratios": RATIOS, "effort": "lazy"}, "effort='lazy'"),
            ({"ratios": RATIOS, "folds": 3}, "ratios= and folds= are both given"),
            ({}, "neither ratios= nor folds= is given"),
        ],
        ids=str,
    )
    def test_refused(self, host, tmp_path, asked, message):
        """One sentence that names the value."""
        with pytest.raises(EvoSplitError, match=message):
            split(host, Request(**asked), tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_one_sample(self, host, tmp_path):
        """One sample makes no split."""
        with pytest.raises(EvoSplitError, match="3 subsets for 1 sample;"):
            split(host, Request(ratios=RATIOS), tmp_path / "out", samples(1))


class TestReplay:
    """A saved split, applied again."""

    @pytest.mark.parametrize("maker", HOSTS)
    def test_manifest_of_any_adapter(self, host, maker, tmp_path, request):
        """Whoever saved it, with whatever ids: samples are found by their files, in any order."""
        other = HOSTS[maker].made(tmp_path / "maker", request)
        source = read(other)
        made = run(source, Request(ratios=RATIOS, seed=1), adapter=other.adapter())
        manifest = tmp_path / "saved.json"
        made.save(manifest)
        content = json.loads(manifest.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(manifest_schema()).validate(content)
        assert content["source"]["adapter"] == maker
        adapter = host.adapter()
        paths = host.write(samples()[::-1])
        target = host.output(tmp_path / "again")
        outcome = apply_with(adapter, paths, manifest, output=target, reading=host.reading)
        assert by_file(outcome.split) == by_file(made)
        assert host.subsets(tmp_path / "again", made.names) == by_file(made)
        assert outcome.split.measures.ld == pytest.approx(made.measures.ld)

    def test_folds(self, host, tmp_path):
        """Folds are replayed as folds."""
        adapter = host.adapter()
        made = run(read(host), Request(folds=4, method="random"), adapter=adapter)
        made.save(tmp_path / "saved.json")
        target = host.output(tmp_path / "again")
        outcome = apply_with(
            adapter, host.write(samples(), "again"), tmp_path / "saved.json", output=target, reading=host.reading
        )
        assert outcome.split.is_kfold
        assert host.subsets(tmp_path / "again", made.names) == by_file(made)

    def test_constraints(self, field_host, tmp_path):
        """What a split had to keep is read anew, so that it is compared with the same random splits as before."""
        adapter = field_host.adapter()
        request = Request(ratios=RATIOS, group_by="clip", stratify_by=["weather"], label_weights={"cat": 2.0})
        made = run(read(field_host), request, adapter=adapter)
        made.save(tmp_path / "saved.json")
        source = adapter.read(field_host.write(samples(), "again"), adapter.reading(**field_host.reading))
        again = replay(Split.load(tmp_path / "saved.json"), source)
        before, after = made.report().to_dict(), again.report().to_dict()
        assert after["random"] == pytest.approx(before["random"])
        assert after["constraints"] == before["constraints"]

    def test_constraints_that_are_gone(self, field_host, tmp_path):
        """Where samples have other clips by now, the split is replayed all the same, without the groups it had."""
        adapter = field_host.adapter()
        made = run(read(field_host), Request(ratios=RATIOS, group_by="clip"), adapter=adapter)
        made.save(tmp_path / "saved.json")
        data = [replace(sample, clip="one") for sample in samples()]
        source = adapter.read(field_host.write(data, "again"), adapter.reading(**field_host.reading))
        again = replay(Split.load(tmp_path / "saved.json"), source)
        assert again.constraints is None
        assert by_file(again) == by_file(made)

    @pytest.mark.parametrize("kind", [int, str])
    def test_ids_of_both_kinds(self, id_host, kind, tmp_path):
        """Numbers stay numbers and texts texts, in the manifest too; by them alone a split is replayed in any order."""
        data = [replace(sample, id=kind(500 - number)) for number, sample in enumerate(samples())]
        adapter = id_host.adapter()
        reading = adapter.reading(**{**id_host.reading, **id_host.reading_ids})
        made = run(adapter.read(id_host.write(data), reading), Request(ratios=RATIOS), adapter=adapter)
        replace(made, file_names=None).save(tmp_path / "saved.json")
        saved = dict(zip(made.sample_ids.tolist(), made.assignment.tolist(), strict=True))
        assert saved.keys() == {sample.id for sample in data}
        source = adapter.read(id_host.write(data[::-1], "again"), reading)
        again = replay(Split.load(tmp_path / "saved.json"), source)
        assert dict(zip(source.counts.ids.tolist(), again.assignment.tolist(), strict=True)) == saved

    def test_other_samples(self, host, tmp_path):
        """What differs is said, and nothing is written."""
        adapter = host.adapter()
        made = run(read(host), Request(ratios=RATIOS, method="random"), adapter=adapter)
        made.save(tmp_path / "saved.json")
        target = host.output(tmp_path / "again")
        data = [replace(sample, name=f"other{number}.jpg") for number, sample in enumerate(samples(39))]
        with pytest.raises(EvoSplitError, match=r"is not what was split|is one of 40 rows"):
            apply_with(adapter, host.write(data, "other"), tmp_path / "saved.json", output=target, reading=host.reading)
        assert not (tmp_path / "again").exists()

    def test_without_labels_to_choose(self, host):
        """The core replays what an adapter saved."""
        source = read(host)
        made = run(source, Request(ratios=RATIOS, method="random"), adapter=host.adapter())
        again = Split.from_manifest(made.to_manifest())
        assert again.assign(source.counts.ids).tolist() == made.assignment.tolist()


class TestWriting:
    """All or nothing."""

    def test_inputs_are_untouched(self, file_host, tmp_path):
        """No byte of the input changes, by a split, a second one over it, or a dry run."""
        adapter = file_host.adapter()
        paths = file_host.write(samples())
        before = tree(file_host.folder)
        for options in ({}, {"overwrite": True}, {"overwrite": True, "dry_run": True}):
            split_with(
                adapter,
                paths,
                Request(ratios=RATIOS, method="random", seed=len(options)),
                output=tmp_path / "out",
                reading=adapter.reading(**file_host.reading),
                writing=adapter.writing(**options),
            )
            assert tree(file_host.folder) == before
        saved = tmp_path / "out" / "split.json"
        apply_with(adapter, paths, saved, output=tmp_path / "replayed", reading=file_host.reading)
        assert tree(file_host.folder) == before
        with pytest.raises(EvoSplitError, match="overwrite"):
            split_with(adapter, paths, Request(ratios=RATIOS, method="random"), output=tmp_path / "out",
                       reading=adapter.reading(**file_host.reading))  # fmt: skip

    def test_data_reads_the_same_after(self, field_host, tmp_path):
        """A split changes nothing of what an adapter reads: ids, labels, files and fields."""
        adapter = field_host.adapter()
        paths, reading = field_host.write(samples()), adapter.reading(**field_host.reading)
        before = adapter.read(paths, reading)
        output = field_host.output(tmp_path / "out")
        split_with(adapter, paths, Request(ratios=RATIOS, method="random"), output=output, reading=reading)
        after = adapter.read(paths, reading)
        assert after.counts.ids.tolist() == before.counts.ids.tolist()
        assert after.counts.labels == before.counts.labels
        assert (after.counts.matrix != before.counts.matrix).nnz == 0
        assert list(after.files) == list(before.files)
        asked = {"groups": ["clip"], "strata": ["weather"]}
        assert list(after.fields(**asked).groups["clip"]) == list(before.fields(**asked).groups["clip"])
        assert list(after.fields(**asked).strata["weather"]) == list(before.fields(**asked).strata["weather"])

    def test_page(self, host, tmp_path):
        """The report is written where it is asked for, in a dry run too."""
        adapter = host.adapter()
        for dry_run in (True, False):
            page = tmp_path / f"page {dry_run}.html"
            writing = adapter.writing(report=page, dry_run=dry_run)
            split(host, Request(ratios=RATIOS, method="random"), tmp_path / "out", writing=writing)
            assert "EvoSplit" in page.read_text(encoding="utf-8")
            assert (tmp_path / "out").exists() == (not dry_run and host.in_files)

    @pytest.mark.parametrize("what", ["an input", "a link to it", "a hard link to it", "a folder", "another file"])
    def test_page_in_the_way(self, file_host, tmp_path, what):
        """A page replaces no input by any of its names, no folder and no file of others; nothing else is written."""
        paths = file_host.write(samples())
        given = next(path for path in sorted(file_host.folder.rglob("*")) if path.is_file())
        page = tmp_path / "page.html"
        if what == "an input":
            page = given
        elif what == "a link to it":
            page.symlink_to(given)
        elif what == "a hard link to it":
            page.hardlink_to(given)
        elif what == "a folder":
            page.mkdir()
        else:
            page.write_text("mine")
        before = tree(tmp_path)
        for dry_run in (True, False):
            with pytest.raises(EvoSplitError, match=r"is the input|is linked to|is a directory|was not written by"):
                divide(file_host, paths, tmp_path / "out", report=page, dry_run=dry_run)
            assert tree(tmp_path) == before

    def test_killed(self, file_host, tmp_path, monkeypatch):
        """Wherever a run ends that replaces another, the next one finds one of the two outputs, whole."""
        paths = file_host.write(samples())
        given = tree(file_host.folder)
        rename = Path.rename
        divide(file_host, paths, tmp_path / "out", seed=0)
        old = written(tmp_path / "out")
        found = []
        for at in range(100):
            left = [at]

            def stop(path, target, left=left):
                left[0] -= 1
                if left[0] == -1:
                    raise _Killed
                return rename(path, target)

            with monkeypatch.context() as patch, suppress(_Killed):
                patch.setattr(Path, "rename", stop)
                patch.setattr(Staging, "_leave", lambda staging: os.close(staging._lock))  # which a killed process does
                divide(file_host, paths, tmp_path / "out", seed=1, overwrite=True)
            divide(file_host, paths, tmp_path / "out", seed=1, overwrite=True, dry_run=True)
            found.append(written(tmp_path / "out"))
            if left[0] >= 0:
                break
            if found[-1] != old:
                divide(file_host, paths, tmp_path / "out", seed=0, overwrite=True)
        new = found[-1]
        assert [each in (old, new) for each in found] == [True] * len(found)
        assert found.count(old) > 5
        assert tree(file_host.folder) == given

    def test_no_space(self, file_host, tmp_path):
        """Where the disk takes no more, a sentence says so, and the earlier output stays."""
        paths = file_host.write(samples())
        divide(file_host, paths, tmp_path / "out", seed=0)
        before = tree(tmp_path)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # as a full disk: no file grows beyond so many bytes
        try:
            with pytest.raises(EvoSplitError, match=r"cannot write .*: .*File too large"):
                divide(file_host, paths, tmp_path / "out", seed=1, overwrite=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert tree(tmp_path) == before

    @pytest.mark.parametrize("moment", [0.0, 0.3, 0.8])
    def test_interrupted(self, host, tmp_path, moment):
        """An interrupt while reading, searching or writing leaves nothing behind."""

        def interrupt(done, message):
            if done >= moment:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            split(host, Request(ratios=RATIOS, effort="fast"), tmp_path / "out", on_progress=interrupt)
        assert not (tmp_path / "out").exists()
        if not host.in_files:
            assert host.subsets(None, tuple(RATIOS)) == {}

    @pytest.mark.parametrize("moment", [0.0, 0.5])
    def test_interrupted_replay(self, host, tmp_path, moment):
        """An interrupt while a saved split is applied leaves nothing behind either."""
        adapter, paths = host.adapter(), host.write(samples())
        reading = adapter.reading(**host.reading)
        made = run(adapter.read(paths, reading), Request(ratios=RATIOS, method="random"), adapter=adapter)
        made.save(tmp_path / "saved.json")

        def interrupt(done, message):
            if done >= moment:
                raise KeyboardInterrupt

        output = host.output(tmp_path / "out")
        with pytest.raises(KeyboardInterrupt):
            apply_with(
                adapter, paths, tmp_path / "saved.json", output=output, reading=host.reading, on_progress=interrupt
            )
        assert not (tmp_path / "out").exists()
        if not host.in_files:
            assert host.subsets(None, tuple(RATIOS)) == {}

    def test_silence(self, host, tmp_path, capfd):
        """Nothing is printed: neither by us nor by the host's own progress bars."""
        made = split(host, Request(ratios=RATIOS, method="random"), tmp_path / "out").split
        adapter, paths = host.adapter(), host.write(samples(), "again")
        capfd.readouterr()
        apply_with(adapter, paths, made, output=tmp_path / "replayed", reading=host.reading)
        assert capfd.readouterr() == ("", "")

    def test_progress(self, host, tmp_path):
        """One bar, from 0 to 1, that never falls back: of a split, of its replay, and of an audit."""
        seen = []

        def on_progress(done, message):
            assert message
            seen.append(done)

        def check():
            assert seen == sorted(seen)
            assert seen[0] >= 0
            assert seen[-1] == 1.0
            seen.clear()

        made = split(host, Request(ratios=RATIOS, effort="fast"), tmp_path / "out", on_progress=on_progress).split
        check()
        adapter = host.adapter()
        output = host.output(tmp_path / "again")
        paths = host.write(samples(), "again")
        apply_with(adapter, paths, made, output=output, reading=host.reading, on_progress=on_progress)
        check()
        paths = host.write_subsets({"train": samples()[:28], "test": samples()[28:]})
        audit(adapter.read_subsets(paths, adapter.reading(**host.reading)), effort="fast", on_progress=on_progress)
        check()


class TestFunctions:
    """What each adapter has for Python: the same four functions, which mean the same."""

    @staticmethod
    def call(host, verb, *given, tmp_path, **options):
        """Call one of the functions with the options for this data, as far as it takes them."""
        function = host.functions()[verb]
        known = inspect.signature(function).parameters
        more = {**host.reading, **options}
        if "output" in known:
            more |= {"output": tmp_path / verb}
        return function(*given, **{name: value for name, value in more.items() if name in known})

    def test_options_are_named(self, own_host):
        """Data, ratios, a split and an output come first, in this order; everything else is given by name."""
        first = {"count": [], "split": ["output", "ratios"], "apply": ["split", "output"], "audit": []}
        for verb, function in own_host.functions().items():
            taken = inspect.signature(function).parameters.values()
            _, *others = [each.name for each in taken if each.kind is not each.KEYWORD_ONLY]
            assert others == [name for name in first[verb] if name in others], verb
            assert others or not first[verb], verb

    def test_they_are_one_walk(self, own_host, tmp_path):
        """Counts and split are those of the adapter; a replay and an audit start from what was split."""
        source = read(own_host)
        expected = run(source, Request(ratios=RATIOS, effort="fast"), adapter=own_host.adapter())
        given = own_host.for_python(own_host.write(samples(), "for python"))
        counts = self.call(own_host, "count", given, tmp_path=tmp_path)
        assert (counts.labels, len(counts)) == (source.counts.labels, len(source))
        assert (counts.matrix != source.counts.matrix).nnz == 0
        asked = {"ratios": RATIOS, "effort": "fast", "return_split": True}
        made = self.call(own_host, "split", given, tmp_path=tmp_path, **asked)
        split = made if isinstance(made, Split) else made[1]
        assert split.assignment.tolist() == expected.assignment.tolist()
        again = self.call(own_host, "apply", given, split, tmp_path=tmp_path)
        assert type(again) is type(made[0] if own_host.name == "hf" else made)  # which takes return_split= to tell it
        if isinstance(again, Split):
            assert again.assignment.tolist() == expected.assignment.tolist()
        divided = own_host.write_subsets({"train": samples()[:28], "test": samples()[28:]})
        judged = self.call(own_host, "audit", own_host.for_python(divided), compare=False, tmp_path=tmp_path)
        assert judged.split.sizes == (28, 12)

    def test_progress(self, own_host, tmp_path):
        """Each of them reports one bar, from 0 to 1, that never falls back."""
        given = own_host.for_python(own_host.write(samples()))
        made = run(read(own_host), Request(ratios=RATIOS, method="random"), adapter=own_host.adapter())
        divided = own_host.write_subsets({"train": samples()[:28], "test": samples()[28:]})
        arguments = {"apply": (given, made), "audit": (own_host.for_python(divided),)}
        for verb in own_host.functions():
            seen = []

            def on_progress(done, message, seen=seen):
                assert message
                seen.append(done)

            asked = {"ratios": RATIOS, "effort": "fast", "on_progress": on_progress}
            self.call(own_host, verb, *arguments.get(verb, (given,)), tmp_path=tmp_path, **asked)
            assert seen == sorted(seen), verb
            assert (seen[0] >= 0, seen[-1]) == (True, 1.0), verb
            assert len(set(seen)) > 1, verb


class TestShell:
    """The commands are made from what the adapter declares, and mean the same as in Python."""

    @staticmethod
    def flags(host):
        """Write the reading options for this data as flags."""
        values = {name: [value] if isinstance(value, str) else value for name, value in host.reading.items()}
        known = {each.name: each.flag for each in options_of(host.adapter().reading)}
        return [word for name, several in values.items() for value in several for word in (known[name], value)]

    def test_commands(self, own_host, tmp_path):
        """A path is enough to split, replay and audit files; a dataset of FiftyOne is named after its adapter."""
        output, again = tmp_path / "out", tmp_path / "again"
        paths = own_host.write(samples())
        made = reference(own_host.in_order(samples()), seed=5)[1]
        in_files = own_host.in_files
        first = [] if in_files else [own_host.name]
        asked = [word for name, ratio in RATIOS.items() for word in ("--subset", f"{name}:{ratio}")]
        asked += ["--seed", "5", *self.flags(own_host)]
        into = ["-o", str(output)] if in_files else ["--manifest", str(tmp_path / "split.json")]
        assert main([*first, "split", *paths, *into, *asked, "--quiet"]) == 0
        assert own_host.subsets(output, tuple(RATIOS)) == made
        assert main([*first, "audit", *own_host.written(output), "--no-compare", "--quiet", *self.flags(own_host)]) == 0
        saved = output / "split.json" if in_files else tmp_path / "split.json"
        into = ["-o", str(again)] if in_files else ["--overwrite"]
        paths = own_host.write(samples()[::-1], "again")
        assert main([*first, "apply", str(saved), *paths, *into, "--quiet"]) == 0
        assert own_host.subsets(again, tuple(RATIOS)) == made
        if in_files:
            assert (detect(paths), detect([str(output)], "audit")) == (own_host.name, own_host.name)


class TestAudit:
    """Subsets that exist are judged alike."""

    def test_measures_and_leaks(self, host):
        """The measures are the engine's; a sample that two subsets share is a leak."""
        data = samples()
        parts = {"train": data[:28], "test": data[28:]}
        adapter = host.adapter()
        source = adapter.read_subsets(host.write_subsets(parts), adapter.reading(**host.reading))
        judged = audit(source, compare=False)
        counts = LabelCounts.from_lists([list(sample.labels) for sample in data])
        expected = evosplit.measure(counts, np.repeat([0, 1], [28, 12]))
        assert judged.split.names == ("train", "test")
        assert judged.split.measures.ld == pytest.approx(expected.ld)
        assert judged.split.measures.lpd == pytest.approx(expected.lpd)
        assert judged.leaks == ()

    def test_shared_samples(self, own_host):
        """The same file in two subsets leaks."""
        data = samples()
        adapter = own_host.adapter()
        paths = own_host.write_subsets({"train": data[:28], "test": data[26:]})
        judged = audit(adapter.read_subsets(paths, adapter.reading(**own_host.reading)), compare=False)
        assert [leak.n_shared for leak in judged.leaks] == [2]

    def test_groups(self, field_host):
        """A group that lies in two subsets leaks."""
        data = samples()
        adapter = field_host.adapter()
        paths = field_host.write_subsets({"train": data[:28], "test": data[28:]})
        judged = audit(
            adapter.read_subsets(paths, adapter.reading(**field_host.reading)), group_by="clip", compare=False
        )
        assert [(leak.kind, leak.examples) for leak in judged.leaks] == [("group", ("clip 9",))]

    def test_own_output_passes(self, host, tmp_path):
        """What an adapter wrote, it judges to be clean."""
        adapter = host.adapter()
        outcome = split(host, Request(ratios=RATIOS), tmp_path / "out")
        where = host.written(tmp_path / "out")
        judged = audit(adapter.read_subsets(where, adapter.reading(**host.reading)), compare=False)
        assert judged.failures() == []
        assert sorted(judged.split.sizes) == sorted(outcome.split.sizes)
