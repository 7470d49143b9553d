"""The quick search for elements finds what the decoder finds, or gives up."""

from __future__ import annotations

import pytest
from coco_files import elements, odd_files
from hypothesis import HealthCheck, given, settings

from evosplit_plugins.coco.json_offsets import cut_out, look_for


@given(text=odd_files())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_quick_search_for_elements_is_right_or_gives_up(text):
    """Where the quick way finds the elements, they are where the decoder finds them."""
    data = text.encode()
    sizes = {key: len(elements(data, key)) for key in ("images", "annotations")}
    quick, sure = look_for(data, sizes), cut_out(data, sizes)
    for key, found in sure.items():
        assert [data[i:j] for i, j in zip(found.starts, found.stops, strict=True)] == elements(data, key)
        if quick is not None:
            assert quick[key].starts.tolist() == found.starts.tolist()
            assert quick[key].stops.tolist() == found.stops.tolist()
            assert (quick[key].first, quick[key].last) == (found.first, found.last)


@pytest.mark.parametrize(
    ("annotations", "quick"),
    [
        ('[{"id": 1}, {"id": 2}, {"id": 3}]', True),
        ('[{"id": 1, "rle": {"counts": [1], "size": [2]}}, {"id": 2} , \n {"id": 3}]', True),
        ('[{"id": 1, "name": "a, b"}, {"id": 2, "x": [[1], [2]]}, {"id": 3}]', True),
        ('[{"id": 1, "name": "},{"}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1, "name": "},{"}, {"id": 2, "x": "{"}, {"x": "}", "id": 3}]', False),
        ('[{"id": 1, "x": [{}, {}]}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": [{}]}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": "}]"}]', False),
        ('[{"id": 1}, {"id": 2}, {"id": 3, "x": "}]}"}]', False),
        ('[{"id": 1, "x": "\\""}, {"id": 2}, {"id": 3}]', False),
        ('[{"id": 1},' + " " * 100 + '{"id": 2}, {"id": 3}]', False),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_quick_search_gives_up_where_it_cannot_be_sure(annotations, quick, first):
    """Braces in strings and lists of objects in objects are left to the decoder; the usual files are not."""
    lists = [f'"annotations": {annotations}', '"images": [{"id": 7}, {"id": 8}]']
    text = "{" + ", ".join(lists if first else lists[::-1]) + ', "categories": [{"id": 1}, {"id": 2}]}'
    found = look_for(text.encode(), {"images": 2, "annotations": 3})
    assert (found is not None) == quick
    if found is not None:
        assert found["images"].starts.tolist() == [text.index('{"id": 7'), text.index('{"id": 8')]
