"""The demo data set: pictures that are drawn on the spot, with a COCO file or the labels of YOLO."""

from evosplit_plugins.demo.drawing import FORMATS, LABELS, DemoSet, draw_demo

__all__ = ["FORMATS", "LABELS", "DemoSet", "draw_demo"]
