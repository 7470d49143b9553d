"""Split a YOLO data set by class and clip, and train on what comes out, where Ultralytics and torch are installed."""

from __future__ import annotations

from importlib.util import find_spec

from evosplit_plugins import evosplit_yolo
from evosplit_plugins.demo import draw_demo
from evosplit_plugins.yolo import audit

# Drawn pictures with label files; any YOLO data set will do. Names of frames of one clip begin alike.
demo = draw_demo("worlds", n_images=80, format="yolo", overwrite=True)
split = evosplit_yolo(
    demo.annotations,
    "worlds-split",
    {"train": 0.7, "val": 0.15, "test": 0.15},
    group_regex=r"([a-z]+-[0-9]+)-",
    overwrite=True,
)
print(split.report())
print(audit("worlds-split", compare=False).verdict)

# From here on it is as with any data.yaml: yolo train model=yolov8n.yaml data=worlds-split/data.yaml
if find_spec("ultralytics") and find_spec("torch"):
    import torch
    from ultralytics.cfg import get_cfg
    from ultralytics.data import build_dataloader, build_yolo_dataset
    from ultralytics.data.utils import check_det_dataset
    from ultralytics.nn.tasks import DetectionModel

    # One epoch of the smallest model, from scratch and in small: it sees every picture of train once.
    torch.manual_seed(0)
    data = check_det_dataset("worlds-split/data.yaml")
    settings = get_cfg(overrides={"imgsz": 64})
    model = DetectionModel("yolov8n.yaml", nc=data["nc"], verbose=False)
    model.args = settings
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    seen = 0
    for batch in build_dataloader(build_yolo_dataset(settings, data["train"], 8, data), 8, workers=0):
        batch["img"] = batch["img"].float() / 255
        loss, _ = model(batch)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        seen += len(batch["im_file"])
    print(f"trained on {seen} pictures; the last loss was {loss.sum():.1f}")
