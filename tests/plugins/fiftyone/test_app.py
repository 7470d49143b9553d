"""The plugin in the real App: FiftyOne's server, its database and Chromium."""

from __future__ import annotations

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
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


# Whether the plots of a panel are as wide as their places.
FITS = """(panel) => [...document.querySelectorAll(panel + " .js-plotly-plot")].every(
  (plot) => Math.abs(plot.querySelector(".main-svg")?.clientWidth - plot.clientWidth) <= 1)"""


class App:
    """The App in one page, which tests share: each opens its dataset there."""

    def __init__(self, context, address):
        self.page = context.new_page()
        self.address = address
        self.alerts = []
        self.page.set_default_timeout(PATIENCE)
        self.page.on("dialog", lambda dialog: (self.alerts.append(dialog.message), dialog.dismiss()))

    def open(self, dataset, *, width=1500, height=1000, light=False, view=None):
        """Open a dataset, or a saved view of it, and wait for its pictures."""
        self.page.set_viewport_size({"width": width, "height": height})
        theme = f"localStorage.setItem('mui-mode', '{'light' if light else 'dark'}')"
        if self.page.url == "about:blank":
            self.page.context.add_init_script(f"localStorage.getItem('mui-mode') || {theme}")
        else:
            self.page.evaluate(theme)
        self.page.goto(f"{self.address}/datasets/{dataset.name}{f'?view={view}' if view else ''}")
        self.page.wait_for_selector("[data-cy=fo-grid] [data-cy=looker]")
        return self

    def see(self, locator):
        """Wait until something is visible."""
        locator.first.wait_for(state="visible")
        return locator

    def see_samples(self, n):
        """Wait until the grid says that it has so many samples."""
        self.see(self.page.get_by_text(re.compile(rf"^\s*{n}\s+samples?$")))

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
        more, unfolded = form.get_by_role("checkbox").last, form.get_by_text("Effort", exact=True)
        for _ in range(10):
            if not more.is_checked():  # also where the form was just being built anew, without what was clicked
                more.click()
            try:
                unfolded.wait_for(timeout=3_000)
                break
            except self.page_error():
                continue

    def take(self, form, button, says):
        """Click a button of the form that fills it in, which takes nothing while the form is being built anew."""
        taken = form.get_by_text(says)
        for _ in range(10):
            try:
                if button.is_visible():
                    button.click(timeout=3_000)
                taken.first.wait_for(timeout=5_000)
                break
            except self.page_error():
                continue
        return self.see(taken)

    def choose_option(self, opener, name):
        """Open one of the form's lists, which close when the form is built anew, and choose from it."""
        option = self.page.get_by_role("option", name=name)
        for _ in range(10):
            opener.click()
            try:
                option.click(timeout=3_000)
                break
            except self.page_error():
                self.page.wait_for_timeout(500)

    def choose(self, form, number, field):
        """Choose a field in one of the form's lists."""
        self.choose_option(form.locator("input[role=combobox]").nth(number), re.compile(f"^{field}$"))
        self.see(form.get_by_role("button", name=field, exact=True))

    def execute(self):
        """Send the form off; while it is resolved anew the button is off, which a click waits for."""
        execute, output = self.button("Execute"), self.page.locator(OUTPUT)
        for _ in range(10):
            execute.click()
            try:
                execute.wait_for(state="detached", timeout=3_000)
                break
            except self.page_error():  # a form that was just being resolved again has not taken it
                continue
        return output

    def schedule(self, form):
        """Have what a form asks for done in the background."""
        chosen = self.button("Schedule", form)
        for _ in range(10):
            form.get_by_role("button", name="Execute").locator("xpath=following-sibling::button").click()
            try:
                self.page.get_by_role("menuitem", name="Schedule").click(timeout=3_000)
                chosen.click(timeout=3_000)
                form.wait_for(state="detached", timeout=3_000)
                break
            except self.page_error():  # a form that was just being resolved again
                continue
        self.see(self.page.get_by_text("Operation successfully scheduled"))

    def run_operator(self, label):
        """Find an operator in the operator browser and open it."""
        browser, form = self.page.locator("[data-cy=operators-browser]"), self.page.locator(PROMPT)
        for _ in range(10):
            if not browser.count():
                self.page.keyboard.press("`")  # which a dialog that is just being closed takes for itself
            try:
                browser.get_by_text(label, exact=True).first.click(timeout=3_000)
                form.wait_for(timeout=3_000)
                break
            except self.page_error():
                continue
        return self.see(form)

    def filter_by_tag(self, tag):
        """Look for a tag in the sidebar, and filter by it."""
        self.page.locator("[data-cy=sidebar-field-arrow-enabled-tags]").click()
        search = self.page.locator("[data-cy=selector-sidebar-search-tags]")
        results = "[data-cy=selector-results-container-sidebar-search-tags]"
        found = self.page.locator(results).get_by_text(tag, exact=True)
        for _ in range(10):
            search.fill(tag)
            try:
                found.wait_for(timeout=3_000)  # before, Enter takes nothing
                search.press("Enter")
                self.page.locator(f"[data-cy=checkbox-{tag}]").wait_for(timeout=3_000)
                break
            except self.page_error():  # the sidebar was just being built anew
                continue

    def open_panel(self, says="Label distribution"):
        """Open the EvoSplit panel beside the grid; a dataset that was open before still has it."""
        option, panel = self.page.locator("[data-cy=new-panel-option-evosplit_panel]"), self.page.locator(PANEL)
        while not panel.count():
            self.page.locator("[data-cy=new-panel-btn]").first.click()
            try:
                option.click(timeout=3_000)
                panel.wait_for(timeout=3_000)
            except self.page_error():
                self.page.keyboard.press("Escape")
        self.see(panel.get_by_text(says))
        return panel

    @contextmanager
    def not_loaded_anew(self):
        """Check that the App does not load the dataset anew, for which it clears the filters of the sidebar."""
        loaded = []

        def look(request):
            if request.url.endswith("/graphql") and "DatasetPageQuery" in (request.post_data or ""):
                loaded.append(request.url)

        self.page.on("request", look)
        yield
        self.page.remove_listener("request", look)
        assert loaded == []

    @staticmethod
    def page_error():
        """Give what Playwright raises when something does not come in time."""
        from playwright.sync_api import TimeoutError as NotInTime

        return NotInTime

    def holds(self, check, part, patience=20):
        """Repeat a check of a part until it passes; gives its result. Plots are drawn anew while a window changes."""
        until = time.monotonic() + patience
        while True:
            try:
                return check(self, part)
            except AssertionError:
                if time.monotonic() > until:
                    raise
                self.page.wait_for_timeout(200)

    def still(self, part):
        """Wait until something stands still; gives where."""
        where = None
        while where != (where := part.bounding_box()):
            self.page.wait_for_timeout(100)
        return where

    def click_point(self, panel, plot, index):
        """Click a point of one of the panel's plots, once it stands still."""
        point = panel.locator(".js-plotly-plot").nth(plot).locator(".scatterlayer .point").nth(index)
        self.see(point)
        point.scroll_into_view_if_needed()
        where = self.still(point)
        x, y = where["x"] + where["width"] / 2, where["y"] + where["height"] / 2
        self.page.mouse.move(x - 1, y)  # plotly takes a click where it has seen the mouse move
        self.page.mouse.move(x, y)
        self.page.wait_for_timeout(200)
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


@pytest.fixture(scope="module")
def shared_app(browser, app_address):
    """Open one page: each further one would load the App again, which takes longer than most tests."""
    context = browser.new_context()
    context.add_init_script("localStorage.setItem('fiftyone-enterprise-tooltip-seen', 'true')")  # an advertisement
    yield App(context, app_address)
    context.close()


@pytest.fixture
def app(shared_app, tmp_path):
    """Give the App; no test may have run a script of the data, and what it saw last is in a screenshot."""
    shared_app.alerts.clear()
    yield shared_app
    shared_app.page.screenshot(path=tmp_path / "last.png")
    assert shared_app.alerts == []


def subset_tags(dataset):
    """Give the tags of the subsets, freshly read."""
    dataset.reload()
    return {tag: n for tag, n in dataset.count_sample_tags().items() if tag != "mine"}


def test_first_split(app, new_pictures):
    """From the empty panel to the form, which says what is wrong; then the result, the tags, the sidebar, the panel."""
    from playwright.sync_api import expect

    dataset = new_pictures()
    app.open(dataset)
    panel = app.open_panel("no recorded split yet")
    app.button("Split it with EvoSplit", panel).click()
    form = app.see(app.page.locator(PROMPT))
    app.see(form.get_by_text("40 samples with 3 labels"))
    train = form.locator("input[type=number]").first
    train.fill("0.9")
    app.see(form.get_by_text(re.compile(r"sum to 1\.1, not to 1")))
    expect(app.button("Execute")).to_be_disabled(timeout=PATIENCE)
    train.fill("0.8")
    app.see(form.get_by_text("will be split: train 32, val 4, test 4"))
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
    app.see(panel.get_by_text("Label distribution"))
    app.filter_by_tag("val")
    app.see(app.page.get_by_text(re.compile(r"^\s*4( of 40)?\s+samples$")))


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


def test_counting_proposal_and_clicks(app, scene_pictures):
    """The counts come by themselves, with a proposal that a button takes; clicks on a subset and a pair show it."""
    dataset = scene_pictures
    body = "function(file) { sleep(10); return true; }"  # for each of 48 samples
    slow = {"$function": {"body": body, "args": ["$filepath"], "lang": "js"}}
    dataset.save_view("slow", dataset.mongo([{"$match": {"$expr": slow}}]))
    app.open(dataset, view="slow")
    form = app.open_form("Counting…")
    app.see(form.get_by_text("train / val / test"))
    app.see(form.get_by_text("48 samples with 3 labels"))
    form.get_by_text("Entire dataset").click()
    app.see(form.get_by_text("12 values of scene, with up to 4 samples each"))
    app.take(form, app.button("Keep them together", form), re.compile("^together: scene · into sample tags"))
    app.see(form.get_by_text(re.compile(r"\(12 groups, the largest of 4 samples\)")))
    output = app.execute()
    app.see(output.get_by_text("groups", exact=True))
    app.button("Open the EvoSplit panel", output).click()
    app.button("Done").click()
    panel = app.page.locator(PANEL)
    app.see(panel.get_by_text("Label distribution"))
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
        app.see_samples(n)
        app.button("Split again", panel).click()
        app.see(app.page.locator(PROMPT).get_by_text("48 samples with 3 labels"))  # not those that are looked at
        app.button("Cancel").click()


def test_equal_names(app, new_pictures, picture, tmp_path):
    """Files of equal names in two folders are proposed as groups; a button takes that, and the pairs stay together."""
    dataset = new_pictures()
    for folder in ("cam1", "cam2"):
        (tmp_path / folder).mkdir()
    names = [f"cam1/{i:04}.png" for i in range(35)] + [f"cam2/{i:04}.png" for i in range(0, 35, 7)]
    dataset.set_values("filepath", [str(shutil.copy(picture, tmp_path / name)) for name in names])
    app.open(dataset)
    form = app.open_form()
    said = "10 files share their names with files in other folders: 0000.png, 0007.png, 0014.png, 0021.png, 0028.png."
    app.see(form.get_by_text(said))
    app.take(form, app.button("Keep them together", form), re.compile("^together: files of equal names · into sample"))
    app.see(form.get_by_text(re.compile(r"as near as whole groups allow \(35 groups, the largest of 2 samples\)")))
    assert not form.get_by_text(said).count()
    app.see(app.execute().get_by_text("Label distribution"))
    app.button("Done").click()
    dataset.reload()
    assert subset_tags(dataset) == {"train": 32, "val": 4, "test": 4}
    tags = dict(zip(names, dataset.values("tags"), strict=True))
    assert all(tags[name] == tags[name.replace("cam2", "cam1")] for name in names)


def test_groups_and_strata(app, scene_pictures):
    """Fields and a similarity run are chosen; a scene kept in two subsets is refused; the result tells of it."""
    from playwright.sync_api import expect

    dataset = scene_pictures
    dataset.limit(4).tag_samples("test")
    dataset.limit(1).tag_samples("train")
    app.open(dataset)
    form = app.open_form()
    app.unfold(form)
    app.choose_option(form.get_by_text("Do not look for them"), "similar (similarity run)")
    app.see(form.get_by_text("Distance up to"))
    form.locator("input[type=number]").nth(3).fill("0.05")
    app.see(form.get_by_text(re.compile(r"as near as whole groups allow \(24 groups, the largest of 2 samples\)")))
    app.choose(form, 1, "scene")
    app.see(form.get_by_text(re.compile(r"\(12 groups, the largest of 4 samples\)")))
    form.get_by_text("Keep what is already in a subset").click()
    app.see(form.get_by_text(re.compile("in 'train' and in 'test' already")))
    dataset.limit(4).untag_samples("test")
    dataset.skip(1).limit(3).tag_samples("test")
    app.choose(form, 2, "weather")
    app.see(form.get_by_text(re.compile("locked into more than one subset.*scene 0")))
    expect(app.button("Execute")).to_be_disabled(timeout=PATIENCE)
    dataset.limit(1).untag_samples("train")
    dataset.limit(1).tag_samples("test")
    form.locator("input[type=number]").nth(3).fill("0.04")
    app.see(form.get_by_text(re.compile("4 stay in their subsets; 44 samples will be placed")))
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
    dataset.reload()
    subset = {}
    for scene, tags in zip(*dataset.values(["scene", "tags"]), strict=True):
        subset.setdefault(scene, set()).update(tags)
    assert all(len(tags) == 1 for tags in subset.values())
    assert subset["scene 0"] == {"test"}


def test_cancel(app, new_pictures):
    """The progress shows a way to cancel, which leaves the dataset as it was."""
    dataset = new_pictures(n=1500, n_labels=60)
    app.open(dataset)
    form = app.open_form()
    app.unfold(form)
    app.choose_option(form.get_by_text("Normal", exact=True), re.compile("Thorough"))
    output = app.execute()
    app.see(output.get_by_text(re.compile(r"^\d+%$")))
    app.button("Cancel", output).click()
    app.see(output.get_by_text("Cancelled. The dataset is as it was."))
    assert subset_tags(dataset) == {}
    assert dataset.list_runs() == []


def test_panel(app, new_pictures, tmp_path):
    """Points show samples or are applied; undo and a manifest, down and up again, bring the tags back."""
    from playwright.sync_api import expect

    from evosplit_plugins.fiftyone_plugin import undo_split

    dataset = new_pictures()
    split = split_with_front(dataset)
    rarest = split.report().labels[0]
    assert rarest.label == NAMES[2]
    before, wanted = dataset.values("tags"), split.pick(2)
    app.open(dataset)
    panel = app.open_panel()
    app.see(panel.locator(".ytick").get_by_text(re.compile(re.escape("<script>alert(1)</script>"))))
    app.click_point(panel, plot=0, index=0)
    app.see_samples(rarest.samples[0])
    app.click_point(panel, plot=1, index=2)
    expect(app.button("Apply this split", panel)).to_be_enabled(timeout=PATIENCE)
    app.button("Show all numbers", panel).click()
    app.see(panel.locator("td").get_by_text("<script>alert(1)</script>"))
    app.see(panel.get_by_text("in use", exact=True))
    app.button("Apply this split", panel).click()
    app.see(app.page.get_by_role("alert").get_by_text("Applied: train 20, test 20"))
    app.see(panel.get_by_text(re.compile("^Split 2: train 20, test 20")))
    dataset.reload()
    for name in wanted.names:
        assert set(dataset.match_tags(name).values("id")) == set(wanted.ids(name))
    app.button("Undo", panel).click()
    app.see(app.page.locator(PROMPT).get_by_text("Takes back the split"))
    app.execute()
    app.see(app.page.get_by_text("40 samples are as they were"))
    app.button("Close").click()
    app.see(panel.get_by_text(re.compile("^Split 1: train 20, test 20")))
    dataset.reload()
    assert dataset.values("tags") == before
    app.button("Save manifest", panel).click()
    app.see(app.page.locator(PROMPT).get_by_text("Download it"))
    with app.page.expect_download() as download:
        app.execute()
    download.value.save_as(tmp_path / "split.json")
    app.see(app.page.get_by_text("40 entries were downloaded"))
    app.button("Close").click()
    (tmp_path / "wrong.json").write_text("{}")
    dataset.untag_samples(["train", "test"])
    for name, says in (("wrong.json", "is no EvoSplit manifest"), ("split.json", "Replayed: train 20, test 20")):
        form = app.run_operator("EvoSplit: apply manifest")
        form.locator("input[type=file]").set_input_files(tmp_path / name)
        app.see(form.get_by_text(name))
        app.execute()
        app.see(app.page.get_by_text(re.compile(says)))
        app.button("Close").click()
    dataset.reload()
    assert dataset.values("tags") == before
    app.button("Undo", panel).click()
    app.see(app.page.locator(PROMPT).get_by_text("Takes back the split"))
    undo_split(dataset)  # somebody else
    app.execute()
    app.see(app.page.get_by_text("Somebody undid this split or made another one in the meantime"))
    app.button("Close").click()


# The distances between the names of the labels in a plot.
DISTANCES = """(plot) => [...plot.querySelectorAll(".ytick text")].map((text) => text.getBoundingClientRect().top)
  .sort((a, b) => a - b).map((top, at, tops) => top - tops[at - 1]).slice(1)"""


def test_groups_of_slices(app, fiftyone, new_dataset, picture):
    """Of a grouped dataset a click on a dot shows the groups; few labels with long names have their space."""
    names, samples = [f"a label whose name is long {i}" for i in range(3)], []
    dataset = new_dataset()
    dataset.add_group_field("group", default="left")
    for i in range(20):
        group = fiftyone.Group()
        for j, side in enumerate(("left", "right")):
            labels = boxes(fiftyone, *names[: 1 + (i + j) % 3])
            samples.append(fiftyone.Sample(filepath=picture, group=group.element(side), gt=labels))
    dataset.add_samples(samples)
    dataset.persistent = True
    split = split_with_front(dataset)
    app.open(dataset, width=1440)
    panel = app.open_panel()
    app.see(panel.locator(".ytick text"))
    app.still(panel.locator(".js-plotly-plot").first)
    assert min(panel.locator(".js-plotly-plot").first.evaluate(DISTANCES)) > 15
    app.click_point(panel, plot=0, index=0)
    app.see(app.page.get_by_text(re.compile(rf"^\s*{split.report().labels[0].samples[0]}\s+groups?")))


def test_what_is_shown_stays(app, new_pictures, tmp_path):
    """View and filter of the sidebar outlive runs, undo, a replay and Apply, also where a field comes or goes."""
    from evosplit_plugins.fiftyone_plugin import apply_split, save_manifest

    dataset = new_pictures()
    split = split_with_front(dataset, ratios=(0.8, 0.1, 0.1))
    save_manifest(dataset, tmp_path / "split.json")
    apply_split(dataset, split, field="gone", label_field="gt")
    dataset.delete_sample_field("gone")
    dataset.save_view("most", dataset.limit(39))
    n_shown = len(dataset.load_saved_view("most").match_tags("train"))

    def stays(field=None, *, listed=True):
        if field is not None:
            state = "visible" if listed else "detached"
            app.page.locator(f"[data-cy=sidebar-field-arrow-enabled-{field}]").wait_for(state=state)
            app.page.wait_for_timeout(1000)  # the App clears the filters while it lists fields anew
        app.see(app.page.get_by_text(re.compile(rf"^\s*{n_shown} of 39\s+samples$")))
        app.see(app.page.locator("[data-cy=checkbox-train]"))
        assert app.page.locator("[data-cy=btn-view-stage-delete]").count() == 1
        assert app.page.url.endswith("?view=most")

    app.open(dataset, view="most")
    app.page.locator("[data-cy=sidebar-field-arrow-enabled-tags]").click()
    app.see(app.page.locator("[data-cy=checkbox-train]")).click()
    for field in (None, "split"):
        stays()
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
    stays("split")
    app.run_operator("EvoSplit: undo")
    app.execute()
    app.see(app.page.get_by_text("40 samples are as they were"))
    app.button("Close").click()
    stays("split", listed=False)
    form = app.run_operator("EvoSplit: apply manifest")
    form.locator("input[type=file]").set_input_files(tmp_path / "split.json")
    app.see(form.get_by_text("split.json"))
    form.get_by_text("Entire dataset").click()
    form.get_by_role("textbox").last.fill("replayed")
    app.execute()
    app.see(app.page.get_by_text(re.compile("Replayed: ")))
    app.button("Close").click()
    stays("replayed")
    panel = app.open_panel()
    stays()
    app.button("Show all numbers", panel).click()
    app.see(panel.get_by_text("What they mean"))
    stays()
    with app.not_loaded_anew():
        panel.get_by_role("button", name=re.compile("^Split 4: ")).click()
        panel.get_by_role("button", name=re.compile("^Split .* field gone")).click()
        app.see(app.button("Apply this split again", panel))
        stays()
        panel.get_by_role("button", name=re.compile("^Compare with ")).click()
        panel.get_by_role("button", name=re.compile("^split 4: ")).click()
        app.see(panel.get_by_role("button", name=re.compile("^Compare with split 4: ")))
        stays()
    app.button("Apply this split again", panel).click()
    app.see(app.page.get_by_role("alert").get_by_text("Applied: "))
    stays("gone")


def test_grid_shows_what_was_written(app, new_pictures):
    """Where filter or view are about a subset, the grid shows its pictures of now after a run, Apply and undo."""
    dataset = new_pictures()
    split_with_front(dataset, ratios=(0.8, 0.1, 0.1))

    def shows(n):
        app.see(app.page.get_by_text(re.compile(rf"^\s*{n}( of 40)?\s+samples$")))
        app.page.wait_for_function(
            "(n) => document.querySelectorAll('[data-cy=fo-grid] [data-cy=looker]').length === n", arg=n
        )

    def split_again(panel):
        app.button("Split again", panel).click()
        form = app.see(app.page.locator(PROMPT))
        if not stage.count():
            form.get_by_text("Entire dataset").click()
        form.get_by_text("Other names").click()
        app.see(form.get_by_text("Names and ratios"))
        form.get_by_role("textbox").last.fill("train 30, val 7, test 3")
        app.see(form.get_by_text("will be split: train 30, val 7, test 3"))
        app.see(app.execute().get_by_text("Label distribution"))
        app.button("Done").click()

    def undo(panel):
        app.button("Undo", panel).click()
        app.see(app.page.locator(PROMPT).get_by_text("Takes back the split"))
        app.execute()
        app.see(app.page.get_by_text("40 samples are as they were"))
        app.button("Close").click()

    stage = app.page.locator("[data-cy=btn-view-stage-delete]")
    app.open(dataset)
    app.filter_by_tag("val")
    shows(4)
    panel = app.open_panel()
    for filtered in (True, False):
        if not filtered:
            app.page.locator("[data-cy=checkbox-val]").click()
            app.see_samples(40)
            heading = app.see(panel.get_by_text("What each subset holds"))
            heading.last.locator("xpath=following::table[1]//tbody/tr").nth(1).click()
        shows(4)
        split_again(panel)
        shows(7)
        undo(panel)
        shows(4)
    split_again(panel)
    shows(7)
    panel.get_by_role("button", name=re.compile("^Split 2: ")).click()
    panel.get_by_role("button", name=re.compile("^Split 1: ")).click()
    app.button("Apply this split again", panel).click()
    app.see(app.page.get_by_role("alert").get_by_text("Applied: "))
    shows(4)


def run_scheduled(dataset):
    """Do what `fiftyone delegated launch` does, in a thread without Playwright's event loop."""
    from fiftyone.operators.delegated import DelegatedOperationService

    with ThreadPoolExecutor() as pool:
        pool.submit(DelegatedOperationService().execute_queued_operations, dataset_name=dataset.name).result()


def test_scheduled(app, new_pictures, picture, tmp_path):
    """The panel tells of runs in the background until they have ended, and when; one click takes an audit's split."""
    dataset = new_pictures()
    split_with_front(dataset)
    app.open(dataset)
    panel = app.open_panel()
    app.button("Split again", panel).click()
    form = app.see(app.page.locator(PROMPT))
    app.see(form.get_by_text("will be split: train 32, val 4, test 4"))
    app.schedule(form)
    app.see(panel.get_by_text(re.compile("The scheduled split waits since .* for fiftyone delegated launch")))
    run_scheduled(dataset)
    ended = r"ended at \d{4}-\d\d-\d\d \d\d:\d\d UTC: split 2, train 32, val 4, test 4, written as sample tags"
    app.see(panel.get_by_text(re.compile(ended)))
    app.see(panel.get_by_role("button", name=re.compile("^Split 2: train 32")))
    dataset.reload()
    leaking = [dataset.match_tags(name).first().id for name in ("train", "val")]
    names = [f"{leaking[0] if unit in leaking else unit}.png" for unit in dataset.values("id")]
    dataset.set_values("filepath", [str(shutil.copy(picture, tmp_path / name)) for name in names])
    app.run_operator("EvoSplit: audit")
    app.schedule(app.page.locator(PROMPT))
    run_scheduled(dataset)
    app.button("Show all numbers", panel).click()
    app.button("Show the audit", panel).click()
    output = app.page.locator(OUTPUT)
    app.see(output.get_by_text("Leak: train and val share 1 file"))
    app.button("Take EvoSplit's split instead", output).click()
    app.see(output.get_by_text("Written: train "))
    app.button("Done").click()
    app.page.get_by_role("dialog").wait_for(state="detached")
    app.see(panel.get_by_role("button", name=re.compile("^Split 3: train")))


def test_audit_is_taken(app, new_pictures, picture, tmp_path):
    """The audit of a split by tags shows its labels; one click takes what EvoSplit gives instead."""
    dataset = new_pictures(n=60, n_labels=6)
    dataset.set_values("filepath", [str(shutil.copy(picture, tmp_path / f"{i}.png")) for i in range(60)])
    dataset[:30].tag_samples("train")
    dataset[30:].tag_samples("test")
    app.open(dataset)
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


def test_changed_by_others(app, new_pictures):
    """Where others change what an open form rests on, Execute says so, for a split, an audit and an export."""
    from evosplit_plugins.fiftyone_plugin import undo_split

    dataset = new_pictures()
    split_with_front(dataset, ratios=(0.8, 0.1, 0.1))
    app.open(dataset)
    app.run_operator("EvoSplit: export")
    app.see(app.page.get_by_text("A new one on the machine"))
    app.page.wait_for_timeout(2000)  # the App builds a form several times
    undo_split(dataset)
    app.execute()
    app.see(app.page.get_by_text("No split by EvoSplit is recorded"))
    app.button("Close").click()
    dataset[:1].tag_samples("train")
    dataset[1:].tag_samples("val")
    app.run_operator("EvoSplit: audit")
    app.see(app.page.get_by_text("2 subsets will be judged: train, val"))
    app.page.wait_for_timeout(2000)
    dataset.untag_samples("val")
    app.see(app.execute().get_by_text("Nothing says which tags"))
    app.button("Done").click()
    form = app.open_form()
    app.unfold(form)
    form.get_by_text("Keep what is already in a subset").click()
    app.see(form.get_by_text("1 stays in its subset"))
    app.page.wait_for_timeout(2000)
    dataset[:1].tag_samples("test")
    app.see(app.execute().get_by_text('"Keep what is already in a subset" puts 1 sample into two subsets'))
    app.button("Done").click()


def heights_of_plots(app, panel):
    """Check that all is inside the panel and nothing lies over something else; give the heights of the plots."""
    frame = app.still(panel)
    assert frame
    for inside in ("table", ".js-plotly-plot .main-svg", ".xtick text", ".ytick text", ".xtitle", "button"):
        ends = panel.locator(inside).evaluate_all(ENDS)
        assert ends, inside
        assert min(left for left, _ in ends) >= frame["x"] - 1, inside
        assert max(right for _, right in ends) <= frame["x"] + frame["width"] + 1, inside
    texts = panel.locator(".MuiButton-root .MuiTypography-root").evaluate_all(CUT_OFF)
    assert texts
    assert not any(texts), texts
    plots = panel.locator(".js-plotly-plot")
    boxes = [plots.nth(i).bounding_box() for i in range(2)]
    boxes += [plots.first.locator(part).first.bounding_box() for part in (".legend", ".ytick text")]
    assert all(boxes)
    first, second, legend, label = boxes
    assert first["y"] + first["height"] <= second["y"]
    assert legend["y"] + legend["height"] < label["y"]
    return first["height"], second["height"]


def test_sizes_and_themes(app, new_pictures):
    """In wide and narrow windows, beside others, dark and light, all is inside the panel; plots keep their heights."""
    dataset = new_pictures(n=60, n_labels=30)
    ids = dataset.values("id")
    split_with_front(dataset, ratios=(0.6, 0.2, 0.2), groups=[i // 2 for i in range(60)], locked={"test": ids[:2]})
    heights = set()
    for light, widths in ((False, (900, 1500, 1280)), (True, (900, 1920))):
        app.open(dataset, width=widths[0], light=light)
        panel = app.open_panel()
        plots = panel.locator(".js-plotly-plot")
        app.see(panel.locator(".js-plotly-plot .xtick"))
        app.see(plots.nth(1))
        app.see(panel.get_by_text("locked", exact=True))  # the widest table
        for width in widths:
            app.page.set_viewport_size({"width": width, "height": 1000})
            app.page.wait_for_function(FITS, arg=PANEL)
            heights.add(app.holds(heights_of_plots, panel))
        assert len(heights) == 1
        for text in ("p", "td", ".xtick text", ".ytick text"):
            assert app.page.evaluate(CONTRAST, [PANEL, text]) > 3, text
    app.page.locator("[data-cy=new-panel-btn]").last.click()
    app.page.get_by_text("Histograms", exact=True).click()
    app.page.get_by_title("Split horizontally").last.click()  # puts it beside ours
    app.see(app.page.locator("[data-cy=panel-content-Histograms]"))
    app.see(panel.locator(".js-plotly-plot .xtick"))
    app.page.wait_for_function(FITS, arg=PANEL)
    heights.add(app.holds(heights_of_plots, panel))
    assert len(heights) == 1
    table = panel.locator("table").first
    table.scroll_into_view_if_needed()
    where = app.still(table)
    app.page.mouse.move(where["x"] + where["width"] / 2, where["y"] + 10)
    app.page.mouse.wheel(0, -120)
    app.page.wait_for_function(
        "([panel, y]) => Math.abs(document.querySelector(panel + ' table').getBoundingClientRect().y - y) <= 2",
        arg=[PANEL, where["y"] + 120],
    )
