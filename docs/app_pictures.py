"""Take the pictures of the FiftyOne tutorial from the App: the demo data, audited, split and looked at.

Run `python docs/app_pictures.py docs/images`. It needs what the browser tests need: FiftyOne, Chromium and Playwright.
`--width` and `--light` show how it looks elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import fiftyone_session  # found through the line above
from PIL import Image

HEIGHT = 1160
PLUGIN = "@evosplit/evosplit"
PANEL = "[data-cy=panel-content-evosplit_panel]"
FORM = "[data-cy=operators-prompt-modal]"
OUTPUT = "[data-cy=operators-prompt-view-modal]"
SETTLED = 2500  # milliseconds after which a plot stands still


def main() -> None:
    """Draw the demo, open it in a FiftyOne of its own and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--light", action="store_true")
    args = parser.parse_args()
    session = fiftyone_session.prepare()
    session.start_database()
    with tempfile.TemporaryDirectory() as demo:
        name = _load_demo(Path(demo))
        with fiftyone_session.app_server(session) as address:
            _take(f"{address}/datasets/{name}", args.folder, args.width, "light" if args.light else "dark")
    for picture in args.folder.glob("fiftyone-*.png"):
        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)


def _load_demo(folder: Path) -> str:
    """Load the demo with its clips, split at random as most people do."""
    import fiftyone as fo
    import fiftyone.utils.random as four

    from evosplit_plugins.demo import draw_demo

    demo = draw_demo(folder, n_images=300)
    dataset = fo.Dataset.from_dir(
        name="evosplit-demo",
        dataset_type=fo.types.COCODetectionDataset,
        data_path=str(demo.images),
        labels_path=str(demo.annotations),
        label_types="detections",
        label_field="ground_truth",
    )
    records = {record["file_name"]: record for record in json.loads(demo.annotations.read_text())["images"]}
    for field in ("clip", "world"):
        dataset.set_values(field, [records[Path(path).name][field] for path in dataset.values("filepath")])
    dataset.persistent = True
    four.random_split(dataset, {"train": 0.8, "val": 0.1, "test": 0.1}, seed=1)
    return str(dataset.name)


def _take(address: str, folder: Path, width: int, theme: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=fiftyone_session.find_chromium(), args=fiftyone_session.CHROMIUM_FLAGS
        )
        page = browser.new_page(viewport={"width": width, "height": HEIGHT})
        page.set_default_timeout(60_000)
        for name, value in {"fiftyone-enterprise-tooltip-seen": "true", "mui-mode": theme}.items():
            page.add_init_script(f"localStorage.setItem({name!r}, {value!r})")
        page.route(lambda url: "127.0.0.1" not in url, lambda route: route.abort())
        page.goto(address)
        page.wait_for_selector("[data-cy=fo-grid] [data-cy=looker]")
        _audit(page, folder)
        _split(page, folder)
        _look(page, folder)
        browser.close()


def _audit(page: Any, folder: Path) -> None:
    page.keyboard.press("`")
    page.locator("[data-cy=operators-browser]").get_by_text("EvoSplit: audit", exact=True).first.click()
    page.locator(FORM).get_by_text("belong together").first.wait_for()
    page.wait_for_timeout(SETTLED)
    _press(page, "Execute")
    page.get_by_text("Take EvoSplit").first.wait_for()
    page.locator(".js-plotly-plot .point").first.wait_for()
    page.wait_for_timeout(SETTLED)
    page.locator(OUTPUT).screenshot(path=folder / "fiftyone-audit.png")
    _press(page, "Done")


def _split(page: Any, folder: Path) -> None:
    page.locator(f'[data-item-id="{PLUGIN}/evosplit"]').click()
    page.locator(FORM).get_by_text("will be split").wait_for()
    page.wait_for_timeout(SETTLED)
    page.locator(FORM).screenshot(path=folder / "fiftyone-form.png")
    _press(page, "Keep them together")
    page.locator(FORM).get_by_text("as near as whole groups allow").wait_for()
    page.wait_for_timeout(SETTLED)
    _press(page, "Execute")
    page.locator(OUTPUT).locator(".js-plotly-plot .point").first.wait_for()
    page.wait_for_timeout(SETTLED)
    page.locator(OUTPUT).screenshot(path=folder / "fiftyone-result.png")
    _press(page, "Open the EvoSplit panel")
    _press(page, "Done")


def _look(page: Any, folder: Path) -> None:
    panel = page.locator(PANEL)
    panel.locator(".js-plotly-plot .point").first.wait_for()
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=folder / "fiftyone-panel.png")
    rows = panel.locator("table").first.locator("tbody tr")
    rows.nth(1).click()
    page.get_by_text("30 samples").first.wait_for()
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=folder / "fiftyone-subset.png")
    points = panel.locator(".js-plotly-plot").nth(1).locator(".scatterlayer .point")
    points.last.scroll_into_view_if_needed()
    page.wait_for_timeout(SETTLED)
    box = points.last.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    panel.get_by_text("Label by label").wait_for()
    panel.get_by_text("Apply this split").scroll_into_view_if_needed()
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=folder / "fiftyone-compare.png")


def _press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()


if __name__ == "__main__":
    main()
