"""Images are found as Ultralytics finds them, in folders and in lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.yolo.images import Disk, absolute, is_image, read_list, read_text


def touch(folder, *names):
    """Make empty files."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.mark.parametrize("name", ["a.jpg", "A.JPEG", "a.b.webp", ".png", "dir/a.TIFF"])
def test_images_by_their_suffix(name):
    """In capitals or not."""
    assert is_image(name)
    assert not is_image(f"{name}.txt")
    assert not is_image(name.replace(".", "_"))


def test_folders_are_searched_whole(tmp_path):
    """All below a folder, in order; hidden files and folders are left out, and links to folders are followed once."""
    touch(tmp_path, "b.jpg", "deep/er/a.png", "deep/c.txt", ".hidden.jpg", ".git/d.jpg", "e.jpg.txt")
    touch(tmp_path.parent / f"{tmp_path.name} other", "f.jpg")
    (tmp_path / "link").symlink_to(tmp_path.parent / f"{tmp_path.name} other")
    (tmp_path / "deep" / "round").symlink_to(tmp_path / "deep")
    root = str(tmp_path)
    found = [path.removeprefix(f"{root}/") for path in Disk().images(root)]
    assert found == sorted(found)
    assert {name for name in found if "round" not in name} == {"b.jpg", "deep/er/a.png", "link/f.jpg"}
    assert len(found) <= 4  # the link that leads to where it is gives each image once more at the most


def test_folders_are_read_once(tmp_path):
    """What changes while a data set is read makes no difference."""
    touch(tmp_path, "a.jpg")
    disk, root = Disk(), str(tmp_path)
    assert disk.has(f"{root}/a.jpg")
    touch(tmp_path, "b.jpg")
    (tmp_path / "a.jpg").unlink()
    assert disk.has(f"{root}/a.jpg")
    assert not disk.has(f"{root}/b.jpg")
    assert not disk.has(f"{root}/no/such/c.jpg")
    assert disk.folders(f"{root}/a.jpg") == ()


def test_a_list_names_images_in_many_ways(tmp_path):
    """Relative to the list, to the root, to a prefix of exporters, or in full; what is not there is kept as it is."""
    touch(tmp_path, "set/images/a.jpg", "set/lists/b.jpg", "set/obj_train_data/c.jpg", "elsewhere/d.jpg")
    root = str(tmp_path / "set")
    lines = [
        "images/a.jpg", "./b.jpg", "data/obj_train_data/c.jpg", f"{tmp_path}/elsewhere/d.jpg", "../images/a.jpg",
        "images\\a.jpg", "", "  b.jpg  ", "images/gone.jpg", "notes.txt",
    ]  # fmt: skip
    path = tmp_path / "set" / "lists" / "train.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = read_list(str(path), root, Disk())
    a, b = f"{root}/images/a.jpg", f"{root}/lists/b.jpg"
    assert found.images == [a, b, f"{root}/obj_train_data/c.jpg", f"{tmp_path}/elsewhere/d.jpg", a, a, b]
    assert found.missing == ["images/gone.jpg", "notes.txt"]


def test_paths_in_full(tmp_path, monkeypatch):
    """Without . and .., but no link is followed."""
    (tmp_path / "link").symlink_to("/")
    monkeypatch.chdir(tmp_path)
    assert absolute("./a/../link/b") == f"{tmp_path.as_posix()}/link/b"


def test_what_cannot_be_read_is_named(tmp_path):
    """A text in another encoding with the place, a file that is gone, a folder without permission."""
    (tmp_path / "a.txt").write_bytes(b"ok\xff")
    with pytest.raises(EvoSplitError, match=r"cannot read .*a\.txt: it is not UTF-8 at byte 2; correct it"):
        read_text(tmp_path / "a.txt")
    with pytest.raises(EvoSplitError, match=r"cannot read .*b\.txt: No such file or directory; correct it"):
        read_text(tmp_path / "b.txt")
    with pytest.raises(EvoSplitError, match=r"cannot look into .*: File name too long; correct it"):
        Disk().files(str(Path(tmp_path, "x" * 300)))
