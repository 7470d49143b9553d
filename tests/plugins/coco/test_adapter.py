"""The adapter: what it recognises, what it reads, and that it can be shown without what it needs."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from coco_files import RATIOS, instances, videos, write

from evosplit import EvoSplitError
from evosplit.wording import Nouns
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import CocoAdapter, CocoReading, audit
from evosplit_plugins.options import options_of


@pytest.fixture
def adapter():
    """Make an adapter."""
    return CocoAdapter()


def test_detection(adapter, tmp_path):
    """Annotation files and folders of them are COCO; a manifest, other JSON and mixtures are not; lists need labels."""
    path = write(tmp_path / "a.json", instances())
    evosplit_coco(path, tmp_path / "out", RATIOS, method="random")
    other, listed = write(tmp_path / "data.json", {"version": 1}), write(tmp_path / "lists" / "val.txt", "a.jpg\n")
    recognised = [[path], [tmp_path / "out"], [path, listed]]
    strange = [[other], [tmp_path / "out" / "split.json"], [path, other], [listed], [listed.parent], [tmp_path / "x"]]
    assert [adapter.detect(list(map(str, paths))) for paths in recognised] == [True] * len(recognised)
    assert [adapter.detect(list(map(str, paths))) for paths in strange] == [False] * len(strange)


def test_a_folder_is_read_as_its_files(adapter, tmp_path):
    """The subsets of a folder are merged, and know which file they came from; so they can be split anew."""
    path = write(tmp_path / "a.json", instances(40))
    split = evosplit_coco(path, tmp_path / "out", RATIOS, method="random")
    source = adapter.read([str(tmp_path / "out")], CocoReading())
    assert source.subsets.names == tuple(RATIOS)
    assert source.subsets.sizes == split.sizes
    where = dict(zip(split.sample_ids.tolist(), split.assignment.tolist(), strict=True))
    assert source.subsets.assignment.tolist() == [where[own] for own in source.counts.ids.tolist()]
    again = evosplit_coco(tmp_path / "out", tmp_path / "again", RATIOS, locked=["test"], method="random")
    assert set(again.ids("test").tolist()) == set(split.ids("test").tolist())


def test_subsets_of_any_layout(adapter, tmp_path):
    """Whatever the layout, the subsets that are read are those that were made; lists need the annotations too."""
    path = write(tmp_path / "a.json", videos(40))
    for layout in ("coco", "roboflow", "lists"):
        how = {} if layout == "lists" else {"layout": layout}
        split = evosplit_coco(path, tmp_path / layout, RATIOS, **how, method="random")
        given = [str(tmp_path / layout)]
        if layout == "lists":
            for name in split.names:
                lines = [f"./images/{split.file_names[row]}\n" for row in split.indices(name)]
                write(tmp_path / f"{name}.txt", "".join(lines))
            given = [str(path), *(str(tmp_path / f"{name}.txt") for name in split.names)]
        source = adapter.read_subsets(given, CocoReading())
        assert source.subsets.sizes == split.sizes
        assert source.counts.labels == split.counts.labels
        names = np.array(source.files)
        for j in range(3):
            expected = {split.file_names[row] for row in split.indices(split.names[j])}
            assert set(names[source.subsets.assignment == j]) == expected
            of_subset = source.counts.matrix[source.subsets.assignment == j].sum(axis=0)
            assert of_subset.tolist() == split.counts.matrix[split.assignment == j].sum(axis=0).tolist()
        found = source.fields(groups=["video_id"], strata=["area"])
        assert len(found.groups["video_id"]) == found.strata["area"].n_samples == 40
        videos_of = {image["file_name"]: image["video_id"] for image in videos(40)["images"]}
        assert found.groups["video_id"] == [videos_of[name] for name in source.files]
    with pytest.raises(EvoSplitError, match=r"train\.txt lists images without their labels; add the annotation file"):
        adapter.read_subsets([str(tmp_path / "train.txt")], CocoReading())


def test_lists_that_leave_images_out_or_name_them_twice(adapter, tmp_path):
    """An image in two lists is two rows, and leaks; one in none is left out, with a note; a strange one is refused."""
    path = write(tmp_path / "a.json", instances(10))
    write(tmp_path / "train.txt", "./images/000001.jpg\n000002.jpg\n")
    write(tmp_path / "val.txt", "/data/images/000002.jpg\n")
    given = [str(tmp_path / name) for name in ("train.txt", "val.txt", "a.json")]
    source = adapter.read_subsets(given, CocoReading())
    assert source.files == ["000001.jpg", "000002.jpg", "000002.jpg"]
    assert source.subsets.assignment.tolist() == [0, 0, 1]
    assert source.notes == ("8 images in none of the lists were left out.",)
    assert [str(leak) for leak in audit(given, compare=False).leaks] == ["train and val share 1 file name: 000002.jpg."]
    write(tmp_path / "val.txt", "strange.jpg\n")
    with pytest.raises(EvoSplitError, match=r"val\.txt: 1 of 1 samples are not in the data"):
        adapter.read_subsets(given, CocoReading())
    assert path.exists()


def test_pictures_of_the_same_content(tmp_path):
    """An audit with `same_bytes` compares the files below `image_root`, one folder or one for each file."""
    one, two = instances(10), instances(10, seed=1, first_id=50)
    paths = [write(tmp_path / f"{name}.json", made) for name, made in (("train", one), ("val", two))]
    for number, (name, made) in enumerate((("x", one), ("y", two))):
        for image in made["images"]:
            write(tmp_path / name / image["file_name"], f"{number} {image['id']}")
    write(tmp_path / "y" / "000055.jpg", "0 3")
    roots = [tmp_path / "x", tmp_path / "y"]
    (leak,) = audit(paths, image_root=roots, same_bytes=True, compare=False).leaks
    assert (leak.kind, leak.n_shared) == ("content", 1)
    with pytest.raises(EvoSplitError, match=r"10 of 20 files are not there, the first is .*000050\.jpg"):
        audit(paths, image_root=tmp_path / "x", same_bytes=True, compare=False)
    with pytest.raises(EvoSplitError, match="image_root= gives 3 folders for 2 files"):
        audit(paths, image_root=[*roots, tmp_path], same_bytes=True, compare=False)


def test_options_are_declared_for_the_command_line(adapter):
    """Each option says what it is for, and its words are those of images."""
    for holder in (adapter.reading, adapter.writing):
        assert all(each.help for each in options_of(holder))
    assert {each.name for each in options_of(adapter.reading)} == {
        *("having_annotations", "count_crowd", "drop_orphans", "coerce_ids", "reassign_ids", "image_root"),
    }
    assert adapter.nouns == Nouns("image", "images", "class", "classes")


def test_the_adapter_needs_msgspec_only_to_read():
    """Without msgspec the adapter can be loaded and asked; reading names the extra to install."""
    program = """
import sys
sys.modules["msgspec"] = None
from evosplit import MissingExtraError
from evosplit_plugins.coco import CocoAdapter, CocoReading, evosplit_coco
assert not CocoAdapter().detect(["a.json"])
for call in (lambda: CocoAdapter().read(["a.json"], CocoReading()), lambda: evosplit_coco("a.json", "out", (1, 1))):
    try:
        call()
    except MissingExtraError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    expected = 'COCO files need msgspec; run: pip install "evosplit-plugins[coco]"'
    assert done.stdout.splitlines() == [expected, expected]


def test_typing_errors_are_named():
    """An option that does not exist is refused by name, with the one that was probably meant."""
    with pytest.raises(TypeError, match=r"evosplit_coco\(\) got an unexpected .* 'groupby'; did you mean 'group_by'"):
        evosplit_coco("a.json", "out", (1, 1), groupby="clip")
