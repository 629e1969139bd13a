"""shi22-occlusion: the squares, and claims that can fail."""

from __future__ import annotations

import pytest

from gradfeat.catalogue.shi22_occlusion import EXPERIMENT, covers
from gradfeat.lab import judge, run


def test_squares_are_all_that_fit_and_no_other():
    squares = covers((8, 8), 3)
    assert len(squares) == 36
    assert {len(square) for square in squares} == {9}
    assert sorted({int(i) for square in squares for i in square}) == list(range(64))


def test_each_claim_fails_where_its_number_is_wrong():
    table = run(EXPERIMENT, seeds=3, **EXPERIMENT.small)
    little = 1e-4 * table["seed"]
    right = {"over_average": 0.1 + little, "under_average": 0.1 + little, "match": 0.9 + little}
    assert [v.outcome for _, v in judge(EXPERIMENT, table.assign(**right))] == ["holds"] * 2
    for metric, place in (("over_average", 0), ("under_average", 0), ("match", 1)):
        wrong = table.assign(**right | {metric: -0.1 + little})
        assert judge(EXPERIMENT, wrong)[place][1].outcome == "fails"


def test_a_square_larger_than_the_images_is_refused():
    with pytest.raises(ValueError, match="patch is 9: give 8 or less"):
        EXPERIMENT.trial(source="digits", pair="0/1", patch=9, seed=0)
