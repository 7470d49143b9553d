"""Masks: the classes that they show, of pictures and of frames."""

from __future__ import annotations

import numpy as np
from fiftyone_samples import row


def test_masks(fiftyone, api, new_dataset, tmp_path):
    """Of masks, in the database or on disk, the classes that they show are counted, the background is not."""
    from PIL import Image

    Image.fromarray(np.array([[0, 2], [2, 5]], dtype=np.uint8)).save(tmp_path / "m.png")
    segmentations = [
        fiftyone.Segmentation(mask=np.array([[0, 1], [2, 2]], dtype=np.uint8)),
        fiftyone.Segmentation(mask_path=str(tmp_path / "m.png")),
        None,
    ]
    dataset = new_dataset([fiftyone.Sample(filepath=f"/{i}.jpg", seg=seg) for i, seg in enumerate(segmentations)])
    dataset.mask_targets = {"seg": {1: "road", 2: "car"}}
    dataset.save()
    counts = api.read_counts(dataset, label_field="seg")
    assert counts.labels == ("5", "car", "road")
    assert counts.matrix.toarray().tolist() == [[0, 1, 1], [1, 1, 0], [0, 0, 0]]


def test_masks_of_frames(fiftyone, api, new_dataset, tmp_path):
    """A video counts a class once for each frame whose mask shows it; a view of frames counts the same."""
    from PIL import Image

    Image.fromarray(np.array([[0, 2]], dtype=np.uint8)).save(tmp_path / "m.png")
    videos = [fiftyone.Sample(filepath=f"/{i}.mp4") for i in range(2)]
    masks = [{"mask": np.array([[1, 2]], dtype=np.uint8)}, {"mask_path": str(tmp_path / "m.png")}]
    for number, mask in enumerate(masks, start=1):
        segmentation = fiftyone.Segmentation(**mask)
        videos[0].frames[number] = fiftyone.Frame(filepath=f"/0-{number}.jpg", seg=segmentation)
    videos[1].frames[1] = fiftyone.Frame(filepath="/1-1.jpg")
    dataset = new_dataset(videos)
    dataset.default_mask_targets = {1: "road", 2: "car"}
    dataset.save()
    for samples, field in ((dataset, "frames.seg"), (dataset.to_frames(), "seg")):
        counts = api.read_counts(samples, label_field=field)
        assert [row(counts, i) for i in range(2)] == [{"car": 2, "road": 1}, {}]
