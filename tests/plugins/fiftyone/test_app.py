"""The plugin in the real App: FiftyOne's server, its database and Chromium."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from fiftyone_samples import NAMES, boxes, scenes, split_with_front

pytestmark = pytest.mark.browser

PLUGIN = "@evosplit/evosplit"
PROMPT = "[data-cy=operators-prompt-modal]"
OUTPUT = "[data-cy=operators-prompt-view-modal]"
PANEL = "[data-cy=panel-content-evosplit_panel]"
PATIENCE = 60_000  # milliseconds; the machine may be busy


# The contrast (WCAG 2) of the first text that matches with the panel's background.
CONTRAST = """([panel, selector]) => {
  const root = document.querySelector(panel), text = root.querySelector(selector);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255);
    const part = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  let behind = root;
  while (/, 0\\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const style = getComputedStyle(text);
  const colours = [text instanceof SVGElement ? style.fill : style.color, getComputedStyle(behind).backgroundColor];
  const [low, high] = colours.map(light).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""

# Where the visible ones of some elements begin and end, in one question: each costs a way to the browser and back.
ENDS = """(parts) => parts
  .map((part) => [part.getBoundingClientRect(), getComputedStyle(part).visibility])
  .filter(([box, visibility]) => box.width && box.height && visibility === "visible")
  .map(([box]) => [box.left, box.right])"""

# Whether the texts of some elements are longer than what is seen of them.
CUT_OFF = "(parts) => parts.map((part) => part.scrollWidth > part.clientWidth)"


class App:
    """One page of the App with a dataset open."""

    def __init__(self, page, address, dataset, view=None):
        self.page = page
        self.alerts = []
        page.set_default_timeout(PATIENCE)
        page.on("dialog", lambda dialog: (self.alerts.append(dialog.message), dialog.dismiss()))
        page.goto(f"{address}/datasets/{dataset.name}{f'?view={view}' if view else ''}")
        page.wait_for_selector("[data-cy=fo-grid] [data-cy=looker]")

    def see(self, locator):
        """Wait until something is visible."""
        locator.first.wait_for(state="visible")
        return locator

    def button(self, name, within=None):
        """Find a button by its text."""
        return (within or self.page).get_by_role("button", name=name, exact=True)

    def open_form(self, says="will be split"):
        """Click the button above the grid."""
        self.page.locator(f'[data-item-id="{PLUGIN}/evosplit"]').click()
        form = self.see(self.page.locator(PROMPT))
        self.see(form.get_by_text(says))
        return form

    def unfold(self, form):
        """Show everything that can be set."""
        form.get_by_role("checkbox").last.click()
        self.see(form.get_by_text("Effort", exact=True))

    def choose(self, form, number, field):
        """Choose a field in one of the form's lists, which close when the form is built anew."""
        option = self.page.get_by_role("option", name=field, exact=True)
        for _ in range(10):
            form.locator("input[role=combobox]").nth(number).click()
            try:
                option.click(timeout=3_000)
                break
            except self.page_error():
                self.page.wait_for_timeout(500)
        self.see(form.get_by_role("button", name=field, exact=True))

    def execute(self):
        """Send the form off."""
        from playwright.sync_api import expect

        execute = self.button("Execute")
        expect(execute).to_be_enabled(timeout=PATIENCE)
        # While the form is resolved anew the button is off; only what stands still takes the click.
        self.page.wait_for_timeout(500)
        expect(execute).to_be_enabled(timeout=PATIENCE)
        execute.click()
        return self.page.locator(OUTPUT)

    def run_operator(self, label):
        """Find an operator in the operator browser and open it."""
        self.page.keyboard.press("`")
        browser = self.see(self.page.locator("[data-cy=operators-browser]"))
        browser.get_by_text(label, exact=True).first.click()
        return self.see(self.page.locator(PROMPT))

    def open_panel(self):
        """Open the EvoSplit panel beside the grid."""
        option = self.page.locator("[data-cy=new-panel-option-evosplit_panel]")
        for _ in range(10):
            self.page.locator("[data-cy=new-panel-btn]").first.click()
            try:
                option.click(timeout=3_000)
                break
            except self.page_error():
                self.page.keyboard.press("Escape")
        panel = self.page.locator(PANEL)
        self.see(panel.get_by_text("Label distribution"))
        return panel

    @staticmethod
    def page_error():
        """Give what Playwright raises when something does not come in time."""
        from playwright.sync_api import TimeoutError as NotInTime

        return NotInTime

    def click_point(self, panel, plot, index):
        """Click a point of one of the panel's plots."""
        points = panel.locator(".js-plotly-plot").nth(plot).locator(".scatterlayer .point")
        self.see(points)
        points.nth(index).scroll_into_view_if_needed()
        self.page.wait_for_timeout(500)
        where = points.nth(index).bounding_box()
        self.page.mouse.move(where["x"] + where["width"] / 2, where["y"] + where["height"] / 2)
        self.page.wait_for_timeout(300)
        self.page.mouse.down()
        self.page.mouse.up()


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    """Give a small picture."""
    from PIL import Image

    path = tmp_path_factory.mktemp("pictures") / "grey.png"
    Image.new("RGB", (64, 48), (90, 120, 150)).save(path)
    return str(path)


@pytest.fixture
def new_pictures(fiftyone, new_dataset, picture):
    """Give a function that makes datasets of real pictures."""

    def make(n=40, n_labels=3):
        rng = np.random.default_rng(0)
        names = [*NAMES, *(f"label {i}" for i in range(n_labels - 3))]
        chance = 1 / (1 + np.arange(len(names)))
        samples = [
            fiftyone.Sample(
                filepath=picture,
                tags=["mine"],
                gt=boxes(fiftyone, *rng.choice(names, size=rng.integers(0, 6), p=chance / chance.sum()).tolist()),
            )
            for _ in range(n)
        ]
        dataset = new_dataset(samples)
        dataset.persistent = True
        return dataset

    return make


@pytest.fixture
def open_app(browser, app_address, tmp_path):
    """Give a context manager that opens a dataset in a fresh browser profile; a failure leaves a screenshot."""

    @contextmanager
    def opened(dataset, *, width=1500, height=1000, light=False, view=None):
        context = browser.new_context(viewport={"width": width, "height": height})
        # No advertisement in the way, and the theme that the user chose.
        settings = {"fiftyone-enterprise-tooltip-seen": "true", "mui-mode": "light" if light else "dark"}
        for name, value in settings.items():
            context.add_init_script(f"localStorage.setItem({name!r}, {value!r})")
        page = context.new_page()
        try:
            yield App(page, app_address, dataset, view)
        except BaseException:
            page.screenshot(path=tmp_path / "failure.png")
            raise
        finally:
            context.close()

    return opened


def subset_tags(dataset):
    """Give the tags of the subsets, freshly read."""
    dataset.reload()
    return {tag: n for tag, n in dataset.count_sample_tags().items() if tag != "mine"}


def test_split(open_app, new_pictures):
    """Button, form, Execute: the result is shown, the samples are tagged, the sidebar knows the tags."""
    dataset = new_pictures()
    with open_app(dataset) as app:
        form = app.open_form()
        app.see(form.get_by_text("40 samples with 3 labels"))
        output = app.execute()
        app.see(output.get_by_text("Label distribution"))
        app.see(output.locator(".js-plotly-plot .point"))
        app.see(output.get_by_text("What each subset holds"))
        app.see(output.get_by_text(re.compile(r"^32 \(80\.0\s%\)$")))
        assert not output.get_by_text("What the measures mean").is_visible()
        app.button("All numbers", output).click()
        for text in ("In words", "random", "bound", "What the measures mean"):
            app.see(output.get_by_text(text, exact=True))
        assert subset_tags(dataset) == {"train": 32, "val": 4, "test": 4}
        app.button("Done").click()
        app.page.locator("[data-cy=sidebar-field-arrow-enabled-tags]").click()
        app.page.locator("[data-cy=selector-sidebar-search-tags]").click()
        app.see(app.page.get_by_text("val", exact=True)).first.click()
        app.see(app.page.get_by_text(re.compile(r"^\s*4\s+samples$")))
        assert app.alerts == []


def test_counting(open_app, scene_pictures):
    """While the database counts, the form can be filled in; the counts come by themselves, with what is proposed."""
    dataset = scene_pictures
    body = "function(file) { sleep(60); return true; }"  # for each of 48 samples
    slow = {"$function": {"body": body, "args": ["$filepath"], "lang": "js"}}
    dataset.save_view("slow", dataset.mongo([{"$match": {"$expr": slow}}]))
    with open_app(dataset, view="slow") as app:
        form = app.open_form("Counting…")
        app.see(form.get_by_text("train / val / test"))
        app.see(form.get_by_text("48 samples with 3 labels"))
        app.button("Keep them together", form).click()
        app.see(form.get_by_text(re.compile("^together: scene · into sample tags")))
        assert app.alerts == []


def test_invalid_ratios(open_app, new_pictures):
    """While the ratios do not sum to 1 the form says so and cannot be sent; corrected, it can."""
    from playwright.sync_api import expect

    dataset = new_pictures()
    with open_app(dataset) as app:
        form = app.open_form()
        train = form.locator("input[type=number]").first
        train.fill("0.9")
        app.see(form.get_by_text(re.compile(r"sum to 1\.1, not to 1")))
        expect(app.button("Execute")).to_be_disabled(timeout=PATIENCE)
        train.fill("0.8")
        app.see(form.get_by_text("will be split: train 32, val 4, test 4"))
        expect(app.button("Execute")).to_be_enabled(timeout=PATIENCE)
    assert subset_tags(dataset) == {}


@pytest.fixture
def scene_pictures(fiftyone, new_dataset, picture):
    """Give 12 scenes of 4 real pictures with a similarity run, in which pairs of pictures are near duplicates."""
    import fiftyone.brain as fob

    samples = scenes(fiftyone)
    for sample in samples:
        sample.filepath = picture
    dataset = new_dataset(samples)
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.normal(size=(24, 8)), 2, axis=0) + 0.01 * rng.normal(size=(48, 8))
    fob.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
    dataset.persistent = True
    return dataset


def test_groups_and_strata(open_app, scene_pictures):
    """Fields and a similarity run are chosen in the form, which counts the groups; the result tells what they did."""
    dataset = scene_pictures
    dataset.limit(4).tag_samples("test")
    with open_app(dataset) as app:
        form = app.open_form()
        app.unfold(form)
        form.get_by_text("Do not look for them").click()
        app.page.get_by_role("option", name="similar (similarity run)").click()
        app.see(form.get_by_text("Distance up to"))
        form.locator("input[type=number]").nth(3).fill("0.05")
        app.see(form.get_by_text(re.compile(r"as near as whole groups allow \(24 groups, the largest of 2 samples\)")))
        app.choose(form, 1, "scene")
        app.see(form.get_by_text(re.compile(r"\(12 groups, the largest of 4 samples\)")))
        app.choose(form, 2, "weather")
        form.get_by_text("Keep what is already in a subset").click()
        output = app.execute()
        app.see(app.button("All numbers", output)).click()
        app.see(output.get_by_text(re.compile("Groups: 12, all of them whole")))
        for text in ("groups", "locked", "sun", "rain"):
            app.see(output.get_by_text(text, exact=True))
        app.button("Open the EvoSplit panel", output).click()
        app.button("Done").click()
        panel = app.page.locator(PANEL)
        app.see(app.button("Show all numbers", panel)).click()
        app.see(panel.get_by_text(re.compile("Groups: 12, all of them whole")))
        app.see(panel.get_by_text("Categories of the strata furthest from their share"))
        assert app.alerts == []
    dataset.reload()
    subset = {}
    for scene, tags in zip(*dataset.values(["scene", "tags"]), strict=True):
        subset.setdefault(scene, set()).update(tags)
    assert all(len(tags) == 1 for tags in subset.values())
    assert subset["scene 0"] == {"test"}


def test_proposal_and_clicks(open_app, scene_pictures):
    """A proposal is taken by its button, holds while it is folded, and clicks on a subset and a pair show samples."""
    dataset = scene_pictures
    with open_app(dataset) as app:
        form = app.open_form()
        app.see(form.get_by_text("12 values of scene, with up to 4 samples each"))
        app.button("Keep them together", form).click()
        app.see(form.get_by_text(re.compile("^together: scene · into sample tags")))
        app.see(form.get_by_text(re.compile(r"\(12 groups, the largest of 4 samples\)")))
        output = app.execute()
        app.see(output.get_by_text("groups", exact=True))
        app.button("Open the EvoSplit panel", output).click()
        app.button("Done").click()
        panel = app.page.locator(PANEL)
        dataset.reload()
        for table, row, view in (
            ("What each subset holds", 1, dataset.match_tags("val")),
            ("label pairs furthest", 0, None),
        ):
            if view is None:
                app.button("Show all numbers", panel).click()
            # The heading of a table stands in the box around it.
            heading = app.see(panel.get_by_text(re.compile(table)))
            rows = heading.last.locator("xpath=following::table[1]//tbody/tr")
            n = len(view) if view is not None else int(rows.nth(row).locator("td").nth(1).inner_text())
            rows.nth(row).click()
            app.see(app.page.get_by_text(re.compile(rf"^\s*{n}\s+samples?$")))
            app.button("Split again", panel).click()
            app.see(app.page.locator(PROMPT).get_by_text("48 samples with 3 labels"))  # not those that are looked at
            app.button("Cancel").click()
        assert app.alerts == []


def test_torn_group(open_app, scene_pictures):
    """A scene that is kept in two subsets is named while the form is filled in, and nothing can be executed."""
    from playwright.sync_api import expect

    scene_pictures[:1].tag_samples("train")
    scene_pictures[1:2].tag_samples("test")
    with open_app(scene_pictures) as app:
        form = app.open_form()
        app.unfold(form)
        app.choose(form, 1, "scene")
        form.get_by_text("Keep what is already in a subset").click()
        app.see(form.get_by_text(re.compile("locked into more than one subset.*scene 0")))
        expect(app.button("Execute")).to_be_disabled(timeout=PATIENCE)
    assert subset_tags(scene_pictures) == {"train": 1, "test": 1}


def test_cancel(open_app, new_pictures):
    """The progress shows a way to cancel, which leaves the dataset as it was."""
    dataset = new_pictures(n=1500, n_labels=60)
    with open_app(dataset) as app:
        form = app.open_form()
        app.unfold(form)
        form.get_by_text("Normal", exact=True).click()
        app.page.get_by_role("option", name=re.compile("Thorough")).click()
        output = app.execute()
        app.see(output.get_by_text(re.compile(r"^\d+%$")))
        app.button("Cancel", output).click()
        app.see(output.get_by_text("Cancelled. The dataset is as it was."))
    assert subset_tags(dataset) == {}
    assert dataset.list_runs() == []


def test_panel_apply_and_undo(open_app, new_pictures):
    """A point of the front is clicked and applied, which re-tags the samples; undo brings the tags back."""
    from playwright.sync_api import expect

    dataset = new_pictures()
    split = split_with_front(dataset)
    before = dataset.values("tags")
    wanted = split.pick(2)
    with open_app(dataset) as app:
        panel = app.open_panel()
        app.click_point(panel, plot=1, index=2)
        expect(app.button("Apply this split", panel)).to_be_enabled(timeout=PATIENCE)
        app.button("Show all numbers", panel).click()
        app.see(panel.get_by_text("in use", exact=True))
        app.button("Apply this split", panel).click()
        app.see(app.page.get_by_role("alert").get_by_text("Applied: train 20, test 20"))
        app.see(panel.get_by_text(re.compile("^2: train 20, test 20")))
        dataset.reload()
        for name in wanted.names:
            assert set(dataset.match_tags(name).values("id")) == set(wanted.ids(name))
        app.button("Undo", panel).click()
        form = app.see(app.page.locator(PROMPT))
        app.see(form.get_by_text("Takes back the split"))
        app.execute()
        app.see(app.page.get_by_text("40 samples are as they were"))
        app.button("Close").click()
        app.see(panel.get_by_text(re.compile("^1: train 20, test 20")))
        assert app.alerts == []
    dataset.reload()
    assert dataset.values("tags") == before


def test_panel_bar_filters(open_app, new_pictures):
    """A click on a bar filters the grid to its samples; names with markup are shown as they are."""
    dataset = new_pictures()
    split = split_with_front(dataset)
    rarest = split.report().labels[0]
    assert rarest.label == NAMES[2]
    with open_app(dataset) as app:
        panel = app.open_panel()
        app.see(panel.locator(".ytick").get_by_text(re.compile(re.escape("<script>alert(1)</script>"))))
        app.button("Show all numbers", panel).click()
        app.see(panel.locator("td").get_by_text("<script>alert(1)</script>"))
        app.click_point(panel, plot=0, index=0)
        app.see(app.page.get_by_text(re.compile(rf"^\s*{rarest.samples[0]}\s+samples?$")))
        assert app.alerts == []


def test_panel_offers_to_split(open_app, new_pictures):
    """Without a split the panel opens the form, and shows the split that was made."""
    dataset = new_pictures()
    with open_app(dataset) as app:
        option = app.page.locator("[data-cy=new-panel-option-evosplit_panel]")
        app.page.locator("[data-cy=new-panel-btn]").first.click()
        option.click()
        panel = app.page.locator(PANEL)
        app.button("Split it with EvoSplit", panel).click()
        app.see(app.page.locator(PROMPT).get_by_text("will be split"))
        output = app.execute()
        app.see(output.get_by_text("Label distribution"))
        app.button("Done").click()
        app.see(panel.get_by_text("Label distribution"))


def test_resize_and_wheel(open_app, new_pictures):
    """When the window is resized, plots keep their height and cover nothing; the wheel scrolls over tables."""
    dataset = new_pictures(n_labels=12)
    split_with_front(dataset)
    with open_app(dataset, width=1440) as app:
        panel = app.open_panel()
        plots = panel.locator(".js-plotly-plot")
        app.see(plots.nth(1))
        before = [plots.nth(i).bounding_box()["height"] for i in range(2)]
        for width in (1280, 1920):
            app.page.set_viewport_size({"width": width, "height": 900})
            app.page.wait_for_timeout(1500)
            boxes = [plots.nth(i).bounding_box() for i in range(2)]
            assert [box["height"] for box in boxes] == before
            assert boxes[0]["y"] + before[0] <= boxes[1]["y"]
            legend, label = (plots.first.locator(part).first.bounding_box() for part in (".legend", ".ytick text"))
            assert legend["y"] + legend["height"] < label["y"]
            assert abs(plots.first.locator(".main-svg").first.bounding_box()["width"] - boxes[0]["width"]) <= 1
        table = panel.locator("table").first
        table.scroll_into_view_if_needed()
        where = table.bounding_box()
        app.page.mouse.move(where["x"] + where["width"] / 2, where["y"] + 10)
        app.page.mouse.wheel(0, -120)
        app.page.wait_for_timeout(1000)
        assert table.bounding_box()["y"] == pytest.approx(where["y"] + 120, abs=2)


def test_what_is_shown_stays(open_app, new_pictures, tmp_path):
    """View and filter of the sidebar outlive runs, undo, a replay and Apply, also where a field comes or goes."""
    from evosplit_plugins.fiftyone_plugin import apply_split, save_manifest

    dataset = new_pictures()
    split = split_with_front(dataset, ratios=(0.8, 0.1, 0.1))
    save_manifest(dataset, tmp_path / "split.json")
    apply_split(dataset, split, field="gone", label_field="gt")
    dataset.delete_sample_field("gone")
    dataset.save_view("most", dataset.limit(39))
    n_shown = len(dataset.load_saved_view("most").match_tags("train"))

    def stays(app, field=None, *, listed=True):
        if field is not None:
            state = "visible" if listed else "detached"
            app.page.locator(f"[data-cy=sidebar-field-arrow-enabled-{field}]").wait_for(state=state)
            app.page.wait_for_timeout(1500)  # the App clears the filters while it lists fields anew
        app.see(app.page.get_by_text(re.compile(rf"^\s*{n_shown} of 39\s+samples$")))
        app.see(app.page.locator("[data-cy=checkbox-train]"))
        assert app.page.locator("[data-cy=btn-view-stage-delete]").count() == 1
        assert app.page.url.endswith("?view=most")

    with open_app(dataset, view="most") as app:
        app.page.locator("[data-cy=sidebar-field-arrow-enabled-tags]").click()
        app.see(app.page.locator("[data-cy=checkbox-train]")).click()
        for field in (None, "split"):
            stays(app)
            form = app.open_form()
            form.get_by_text("Entire dataset").click()
            app.see(form.get_by_text("40 samples with 3 labels"))
            if field:
                app.unfold(form)
                form.get_by_text("A field", exact=True).click()
                app.see(form.get_by_text("The field is created"))
            app.see(app.execute().get_by_text("Label distribution"))
            app.button("Done").click()
            dataset.reload()
            n_shown = len(dataset.load_saved_view("most").match_tags("train"))
        stays(app, "split")
        app.run_operator("EvoSplit: undo")
        app.execute()
        app.see(app.page.get_by_text("40 samples are as they were"))
        app.button("Close").click()
        stays(app, "split", listed=False)
        form = app.run_operator("EvoSplit: apply manifest")
        form.locator("input[type=file]").set_input_files(tmp_path / "split.json")
        app.see(form.get_by_text("split.json"))
        form.get_by_text("Entire dataset").click()
        form.get_by_role("textbox").last.fill("replayed")
        app.execute()
        app.see(app.page.get_by_text(re.compile("Replayed: ")))
        app.button("Close").click()
        stays(app, "replayed")
        panel = app.open_panel()
        stays(app)
        app.button("Show all numbers", panel).click()
        app.see(panel.get_by_text("What they mean"))
        stays(app)
        panel.get_by_text(re.compile("^4: ")).click()
        app.page.get_by_role("option", name=re.compile("field gone")).click()
        app.see(app.button("Apply this split again", panel))
        stays(app)
        app.button("Apply this split again", panel).click()
        app.see(app.page.get_by_role("alert").get_by_text("Applied: "))
        stays(app, "gone")
        assert app.alerts == []


def test_audit_is_taken(open_app, new_pictures, picture, tmp_path):
    """The audit of a split by tags shows its labels; one click takes what EvoSplit gives instead."""
    dataset = new_pictures(n=60, n_labels=6)
    dataset.set_values("filepath", [str(shutil.copy(picture, tmp_path / f"{i}.png")) for i in range(60)])
    dataset[:30].tag_samples("train")
    dataset[30:].tag_samples("test")
    with open_app(dataset) as app:
        app.run_operator("EvoSplit: audit")
        app.execute()
        app.see(app.page.get_by_text(re.compile("EvoSplit at the same sizes")))
        app.see(app.page.locator(".js-plotly-plot .point"))
        app.button("Take EvoSplit's split instead").click()
        app.see(app.page.locator(OUTPUT).get_by_text("Written: train 30, test 30"))
        app.button("Done").click()
        app.page.get_by_role("dialog").wait_for(state="detached")
    assert subset_tags(dataset) == {"train": 30, "test": 30}
    assert len(dataset.list_runs()) == 1


def test_manifest_through_the_browser(open_app, new_pictures, tmp_path):
    """From the panel a manifest is downloaded; uploaded again, it brings the tags back; a wrong file is refused."""
    dataset = new_pictures()
    split_with_front(dataset)
    before = dataset.values("tags")
    with open_app(dataset) as app:
        panel = app.open_panel()
        app.button("Save manifest", panel).click()
        app.see(app.page.locator(PROMPT).get_by_text("Download it"))
        with app.page.expect_download() as download:
            app.execute()
        download.value.save_as(tmp_path / "split.json")
        app.see(app.page.get_by_text("40 entries were downloaded"))
        app.button("Close").click()
        for name, says in (("wrong.json", "is no EvoSplit manifest"), ("split.json", "Replayed: train 20, test 20")):
            if name == "wrong.json":
                (tmp_path / name).write_text("{}")
                dataset.untag_samples(["train", "test"])
            form = app.run_operator("EvoSplit: apply manifest")
            form.locator("input[type=file]").set_input_files(tmp_path / name)
            app.see(form.get_by_text(name))
            app.execute()
            app.see(app.page.get_by_text(re.compile(says)))
            app.button("Close").click()
    dataset.reload()
    assert dataset.values("tags") == before


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
def test_nothing_is_clipped(open_app, new_pictures, light):
    """In wide and narrow windows, dark and light, tables and plots end inside the panel."""
    dataset = new_pictures(n=60, n_labels=30)
    ids = dataset.values("id")
    split_with_front(dataset, ratios=(0.6, 0.2, 0.2), groups=[i // 2 for i in range(60)], locked={"test": ids[:2]})
    with open_app(dataset, width=900, light=light) as app:
        panel = app.open_panel()
        app.see(panel.locator(".js-plotly-plot .xtick"))
        app.see(panel.get_by_text("locked", exact=True))  # the widest table
        for width in (900, 1500):
            app.page.set_viewport_size({"width": width, "height": 1000})
            app.page.wait_for_timeout(1000)
            frame = panel.bounding_box()
            for inside in ("table", ".js-plotly-plot .main-svg", ".xtick text", ".ytick text", ".xtitle", "button"):
                ends = panel.locator(inside).evaluate_all(ENDS)
                assert ends
                assert min(left for left, _ in ends) >= frame["x"] - 1, (width, inside)
                assert max(right for _, right in ends) <= frame["x"] + frame["width"] + 1, (width, inside)
            lists = panel.locator(".MuiSelect-select").evaluate_all(CUT_OFF)
            assert lists
            assert not any(lists), (width, lists)
        for text in ("p", "td", ".xtick text", ".ytick text"):
            assert app.page.evaluate(CONTRAST, [PANEL, text]) > 3, text
