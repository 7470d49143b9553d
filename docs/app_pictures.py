"""Take the pictures of the FiftyOne tutorial from the App, split with the demo data.

Run `python docs/app_pictures.py docs/images`. It needs what the browser tests need: FiftyOne, Chromium and Playwright.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import fiftyone_session  # found through the line above
from PIL import Image

WIDTH, HEIGHT = 1440, 1150  # the whole form is seen
PANEL = "[data-cy=panel-content-evosplit_panel]"
FORM = "[data-cy=operators-prompt-modal]"


def main(folder: Path) -> None:
    """Draw the demo, split it in a FiftyOne of its own and take the pictures."""
    session = fiftyone_session.prepare()
    session.start_database()
    with tempfile.TemporaryDirectory() as demo:
        name = _split_demo(Path(demo))
        with fiftyone_session.app_server(session) as address:
            _take(f"{address}/datasets/{name}", folder)
    for picture in folder.glob("fiftyone-*.png"):
        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)


def _split_demo(folder: Path) -> str:
    import fiftyone as fo

    from evosplit_plugins import evosplit_fiftyone
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
    evosplit_fiftyone(dataset, {"train": 0.8, "val": 0.1, "test": 0.1}, label_field="ground_truth")
    return str(dataset.name)


def _take(address: str, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=fiftyone_session.find_chromium(), args=fiftyone_session.CHROMIUM_FLAGS
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(60_000)
        page.add_init_script("localStorage.setItem('fiftyone-enterprise-tooltip-seen', 'true')")
        page.route(lambda url: "127.0.0.1" not in url, lambda route: route.abort())
        page.goto(address)
        page.wait_for_selector("[data-cy=fo-grid] [data-cy=looker]")
        page.locator('[data-item-id="@evosplit/evosplit/evosplit"]').click()
        page.locator(FORM).get_by_text("will be split").wait_for()
        page.wait_for_timeout(2000)
        page.locator(FORM).screenshot(path=folder / "fiftyone-form.png")
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.locator("[data-cy=new-panel-btn]").first.click()
        page.locator("[data-cy=new-panel-option-evosplit_panel]").click()
        page.locator(PANEL).locator(".js-plotly-plot .point").first.wait_for()
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / "fiftyone-panel.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
