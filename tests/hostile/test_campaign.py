"""The campaign, a test a part: one sentence or a right result, and no file lost."""

from __future__ import annotations

import pytest

import gradfeat.interface.page  # noqa: F401
from gradfeat import interface
from hostile.campaign import PARTS, campaigns, pieces
from hostile.prepared import pages


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_nothing_breaks(part):
    found = campaigns(pieces(part), 2)
    print(f"seeds from 0\n{found.table()}")  # noqa: T201
    assert not found.faults, "\n".join(map(repr, found.faults))


def test_tries_draw_no_page_where_none_is_wanted():
    page = interface.page.page
    with pages(False):
        assert interface.page.page("fit.html", {}) == "<p>page</p>"
    with pages(True):
        assert interface.page.page is page
