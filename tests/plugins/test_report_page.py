"""The report's page in a real browser: charts, search, sorting, both themes, narrow and wide."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import evosplit
from evosplit import LabelCounts
from evosplit.report.tables import objective_titles

pytestmark = pytest.mark.browser

HOSTILE = "<script>alert(1)</script>"
SITE = '"><b onclick="alert(2)">site</b>'
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

# The contrast (WCAG 2) of every text with what is behind it; gives those that are too faint.
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = ([r, g, b]) => {
    const part = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const found = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const text = node.parentElement;
    if (!node.textContent.trim() || !text.checkVisibility({ visibilityProperty: true })) continue;
    let behind = text;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
    const style = getComputedStyle(text);
    const front = rgb(text instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [light(front), light(rgb(getComputedStyle(behind).backgroundColor))].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) found.push(`${node.textContent.trim().slice(0, 20)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""


def drawn_counts(m, q, seed=0):
    """Draw counts with a long tail of rare labels that may repeat."""
    rng = np.random.default_rng(seed)
    share = np.minimum(0.8 / np.arange(1, q + 1) ** 0.9, 0.6)
    return (rng.random((m, q)) < share) * rng.integers(1, 4, (m, q))


def with_front(split):
    """Give a split trade-offs, whatever a search would find."""
    values = np.array([[0.01, 0.2, 0.004], [0.03, 0.1, 0.003], [0.02, 0.15, 0.006], [0.05, 0.3, 0.001]])
    names = ("samples", "instances", "pairs")
    front = evosplit.ParetoFront(values, names, np.stack([split.assignment] * 4), np.ones(3))
    return replace(split, front=front, chosen=1)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write the pages of a small, a large and a constrained split, and of ten folds."""
    folder = tmp_path_factory.mktemp("pages")
    small = LabelCounts(drawn_counts(120, 3), labels=["cat", "dog", HOSTILE])
    many = LabelCounts(drawn_counts(2000, 1200), labels=[HOSTILE] + [f"class number {i}" for i in range(1, 1200)])
    some = LabelCounts(drawn_counts(400, 12), labels=[f"class {i}" for i in range(11)] + ["a name " * 12])
    splits = {
        "small": with_front(evosplit.split(small, {"train": 0.8, "val": 0.1, HOSTILE: 0.1}, method="is")),
        "many": with_front(evosplit.split(many, (0.8, 0.1, 0.1), method="is", objectives=("samples", "instances"))),
        "folds": evosplit.kfold(some, 10, method="sois"),
        "constrained": evosplit.split(
            some,
            (0.6, 0.2, 0.2),
            effort="fast",
            groups=[f"clip {i // 7}" for i in range(400)],
            locked={"test": list(range(14))},
            strata={"light <b>": ["day", "night"] * 200, SITE: [f"site {i % 20}" for i in range(400)]},
            label_weights={"class 3": 2},
        ),
        "elsewhere": evosplit.Split(
            ("a", "b"), np.arange(120) % 2, small.ids, (60, 60), counts=LabelCounts(drawn_counts(120, 1))
        ),
    }
    bare = LabelCounts(np.zeros((4, 2), dtype=int))
    splits["bare"] = evosplit.Split(("a", "b"), np.array([0, 0, 1, 1]), bare.ids, (2, 2), counts=bare)
    for name, split in splits.items():
        split.report().save_html(folder / f"{name}.html")
    return folder, splits


@pytest.fixture
def open_page(browser, pages):
    """Give a function that opens a page; any message, dialog, failed or further request fails the test."""

    @contextmanager
    def opened(name, viewport=WIDE, theme="light", **options):
        context = browser.new_context(viewport=viewport, color_scheme=theme, **options)
        page = context.new_page()
        trouble, requests = [], []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        address = (pages[0] / f"{name}.html").as_uri()
        page.goto(address)
        yield page
        assert trouble == []
        assert requests == [address]
        context.close()

    return opened


def column(page, table, title):
    """Read the numbers of a column of a table, as shown."""
    headings = page.locator(f"[data-table={table}] thead th").all_inner_texts()
    at = next(i for i, heading in enumerate(headings) if heading.strip().startswith(title))
    cells = page.locator(f"[data-table={table}] tbody tr > :nth-child({at + 1})").all_inner_texts()
    return [float(re.match(r"[\d,.]+", cell.strip()).group().replace(",", "")) for cell in cells]


def names(page, table="labels"):
    """Read the first column of a table."""
    return page.locator(f"[data-table={table}] tbody th").all_inner_texts()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["small", "many", "folds", "constrained", "elsewhere"])
def test_every_page_opens_fits_and_can_be_read(open_page, name, viewport, theme):
    """Without messages or requests, as wide as the window, and with enough contrast, in both themes."""
    with open_page(name, viewport, theme) as page:
        assert page.title() == "EvoSplit report"
        page.locator("[data-table=labels] tbody tr").first.wait_for()
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) == 0
        assert page.evaluate(FAINT) == []
        for link in page.locator("nav a").all():
            assert page.locator(link.get_attribute("href")).count() == 1


def test_data_without_labels(open_page):
    """A split of samples without any label has a page too, which says so."""
    with open_page("bare") as page:
        assert page.locator("#labels p").inner_text() == "No sample carries a label."
        assert page.locator("#pairs, #trade-offs, #strata").count() == 0


def test_names_are_text(open_page):
    """A class and a subset called like a script show as that text; nothing runs."""
    with open_page("small") as page:
        assert HOSTILE in names(page)
        assert HOSTILE in page.locator("[data-table=labels] thead").inner_text()
        assert HOSTILE in page.locator("#subsets").inner_text()
        assert page.locator("script").count() == 2


def test_even_a_script_that_slips_in_does_not_run(open_page, pages):
    """The policy of the page lets no other script run; the browser says that it refused one."""
    path = pages[0] / "small.html"
    text = path.read_text(encoding="utf-8")
    (pages[0] / "slipped.html").write_text(
        text.replace("</main>", "<script>document.title = 'changed'</script></main>"), encoding="utf-8"
    )
    with pytest.raises(AssertionError, match="Content Security Policy"), open_page("slipped") as page:
        assert page.title() == "EvoSplit report"


def test_classes_are_all_there(open_page, pages):
    """The rarest fifty come first; a button shows all twelve hundred."""
    report = pages[1]["many"].report()
    occurring = [row.label for row in report.labels if row.total]
    with open_page("many") as page:
        assert names(page) == occurring[:50]
        page.get_by_role("button", name=f"Show all {len(occurring):,}").click()
        assert names(page) == occurring
        assert page.get_by_role("button", name="Show all").filter(visible=True).count() <= 1  # that of the pairs


def test_search(open_page):
    """Typing narrows the table at once and says how many are left; whatever is typed is text."""
    with open_page("many") as page:
        field = page.get_by_role("searchbox", name="Search labels")
        status = page.locator("[data-table=labels] [role=status]")
        before = int(status.inner_text().split()[0].replace(",", ""))
        field.fill("NUMBER 119")
        found = names(page)
        assert found
        assert all("number 119" in name for name in found)
        assert status.inner_text() == f"{len(found)} of {before:,} labels"
        field.fill("<script>")
        assert names(page) == [HOSTILE]
        field.fill("(no such [class")
        assert names(page) == []
        assert status.inner_text() == f"0 of {before:,} labels"
        field.fill("")
        assert len(names(page)) == 50


def test_sorting(open_page, pages):
    """Each heading sorts by its column, up and down, by mouse and by keyboard; screen readers are told."""
    with open_page("constrained") as page:
        heading = page.locator("[data-table=labels] thead th")
        assert heading.nth(1).get_attribute("aria-sort") == "ascending"
        assert column(page, "labels", "samples") == sorted(column(page, "labels", "samples"))
        off = page.locator("[data-table=labels]").get_by_role("button", name="off by")
        off.click()
        assert column(page, "labels", "off by") == sorted(column(page, "labels", "off by"), reverse=True)
        page.keyboard.press("Enter")
        assert column(page, "labels", "off by") == sorted(column(page, "labels", "off by"))
        assert heading.nth(2).get_attribute("aria-sort") == "ascending"
        assert heading.nth(1).get_attribute("aria-sort") is None
        page.locator("[data-table=labels]").get_by_role("button", name="label", exact=True).click()
        assert names(page)[1:4] == ["class 0", "class 1", "class 2"]
        report = pages[1]["constrained"].report()
        by_share = max(report.labels, key=lambda row: row.samples[2] / row.total)
        page.locator("[data-table=labels]").get_by_role("button", name="test").click()
        assert names(page)[0].strip() == by_share.label.strip()


def test_counting_instances(open_page, pages):
    """The same table counts images or instances."""
    report = pages[1]["small"].report()
    with open_page("small") as page:
        assert column(page, "labels", "samples") == sorted(row.total for row in report.labels)
        heading = page.locator("[data-table=labels] thead")
        assert "to move" in heading.inner_text()
        page.get_by_label("count").select_option("instances")
        assert "to move" not in heading.inner_text()
        assert column(page, "labels", "instances") == sorted(sum(row.instances) for row in report.labels)


def test_strata_have_a_table(open_page):
    """The categories of all strata are in one table; their names are text."""
    with open_page("constrained") as page:
        assert set(names(page, "strata")) == {"light <b>", SITE}
        assert sum(column(page, "strata", "times")) == 800
        page.get_by_role("searchbox", name="Search categories").fill("night")
        assert names(page, "strata") == ["light <b>"]
        assert page.locator("[onclick]").count() == 0


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_points_of_the_front_tell_their_values(open_page, pages, touch):
    """Pointing at a trade-off shows its values, and marks it in every chart; pointing elsewhere hides them."""
    front = pages[1]["many"].front
    with open_page("many", PHONE if touch else WIDE, has_touch=touch) as page:
        charts = page.locator("[data-chart=front] .chart")
        charts.first.scroll_into_view_if_needed()
        point = charts.first.locator("circle.point").first
        where = point.bounding_box()
        x, y = where["x"] + where["width"] / 2, where["y"] + where["height"] / 2
        page.touchscreen.tap(x, y) if touch else page.mouse.move(x, y)
        tip = charts.first.locator(".tip")
        assert tip.is_visible()
        assert tip.locator("b").inner_text() == "Trade-off 0"
        assert [line.partition(": ")[0] for line in tip.locator("span").all_inner_texts()] == [
            title.partition(": ")[0] for title in objective_titles(front.objective_names)
        ]
        assert float(tip.locator("span").first.inner_text().split(": ")[-1]) == pytest.approx(
            front.objectives[0, 0], rel=0.01
        )
        assert charts.nth(1).locator(".ring").get_attribute("visibility") == "visible"
        if not touch:
            page.mouse.move(5, 5)
            assert not tip.is_visible()


def test_points_are_coloured_by_what_their_chart_hides(open_page, pages):
    """In the chart of two objectives, the colours of the points are in the order of the third."""
    front, chosen = pages[1]["many"].front, pages[1]["many"].chosen
    with open_page("many") as page:
        drawn = page.locator("[data-chart=front] .chart").first.locator("circle.point, polygon.star")
        styles = [point.get_attribute("style") for point in drawn.all()]
        percents = [int(re.search(r"var\(--s1\) (\d+)%", style).group(1)) for style in styles]
    others = [i for i in range(len(front)) if i != chosen]  # the star is drawn last
    hidden = front.objectives[[*others, chosen], 2]
    assert np.argsort(percents).tolist() == np.argsort(hidden).tolist()
    assert (min(percents), max(percents)) == (0, 100)


def test_sizes_tell_instances_and_samples_without_a_label(open_page, pages):
    """The table of the subsets counts both, with their shares."""
    report = pages[1]["small"].report()
    with open_page("small") as page:
        assert page.locator("#subsets thead th").all_inner_texts()[-2:] == ["instances", "no label"]
        for row, shown in zip(report.subsets, page.locator("#subsets tbody tr").all(), strict=True):
            cells = shown.locator("td").all_inner_texts()[-2:]
            for part, cell in zip((row.instances, row.unlabelled), cells, strict=True):
                assert cell.split() == [f"{part.count:,}{100 * part.share:.1f}", "%"]


def test_charts_by_keyboard(open_page, pages):
    """Arrow keys step through the classes of the chart, from the rarest to the most frequent."""
    report = pages[1]["small"].report()
    with open_page("small") as page:
        chart = page.locator("[data-chart=scatter]")
        chart.locator("svg").focus()
        page.keyboard.press("ArrowRight")
        assert chart.locator(".tip b").inner_text() == report.labels[0].label
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert chart.locator(".tip b").inner_text() == report.labels[-1].label
        page.keyboard.press("Escape")
        assert not chart.locator(".tip").is_visible()


def test_charts_follow_the_width(open_page):
    """A window that is made narrow has narrow charts."""
    with open_page("small") as page:
        page.set_viewport_size(PHONE)
        page.wait_for_function("document.querySelector('[data-chart=scatter] svg').viewBox.baseVal.width < 390")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_tables_name_their_columns_and_rows(open_page):
    """Every table has column headings, and every row a heading, for those who do not see it."""
    with open_page("constrained") as page:
        for table in page.locator("table").all():
            assert table.locator("thead th[scope=col]").count() >= 2
            assert table.locator("tbody tr").count() == table.locator("tbody th[scope=row]").count()
        assert page.locator("input:not([aria-label])").count() == 0
        assert page.locator("h1").count() == 1
