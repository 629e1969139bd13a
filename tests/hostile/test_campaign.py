"""The campaign, a test a part: one sentence or a right result, and no file lost."""

from __future__ import annotations

import pytest

from hostile.campaign import PARTS, campaigns, pieces


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_nothing_breaks(part):
    found = campaigns(pieces(part), 2)
    print(f"seeds from 0\n{found.table()}")  # noqa: T201
    assert not found.faults, "\n".join(map(repr, found.faults))
