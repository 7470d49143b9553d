"""The demo data set: pictures that are drawn on the spot, with their COCO annotation file."""

from evosplit_plugins.demo.drawing import LABELS, DemoSet, draw_demo

__all__ = ["LABELS", "DemoSet", "draw_demo"]
