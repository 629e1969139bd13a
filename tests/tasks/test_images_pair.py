"""Pairs of classes: scaled once, labelled right, drawn without replacement."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradfeat.maths.streams import stream
from gradfeat.tasks.images import ImagePair, read_images
from gradfeat.tasks.images.collection import images_of

DIGITS = read_images("digits")
PAIR = ImagePair.of(DIGITS, 3, 8)
ROWS = len(PAIR.y)


def distinct(X: torch.Tensor) -> int:
    return len(torch.unique(X, dim=0))


def test_labels_are_the_classes_and_pixels_come_back():
    where = (DIGITS.y == 3) | (DIGITS.y == 8)
    assert PAIR.y[:, 0].tolist() == np.where(DIGITS.y[where] == 8, 1.0, -1.0).tolist()
    pixels = 16 * (PAIR.X * PAIR.scale + PAIR.mean)
    # pixels up to 16 through three roundings: a few units of 16 times 2e-16
    assert torch.allclose(pixels, torch.as_tensor(DIGITS.pixels[where]).double(), atol=1e-13)


def test_the_other_order_turns_the_labels_only():
    other = ImagePair.of(DIGITS, 8, 3)
    assert torch.equal(other.X, PAIR.X)
    assert torch.equal(other.y, -PAIR.y)


def test_inputs_are_centred_with_mean_square_norm_one():
    # sums of 357 terms of size one, relative rounding below 357 * 2e-16
    assert PAIR.X.mean(0).abs().max() < 1e-13
    assert PAIR.X.square().sum(1).mean() == pytest.approx(1, abs=1e-13)
    assert (PAIR.X.dtype, PAIR.y.shape) == (torch.float64, (ROWS, 1))


def test_units_of_the_file_do_not_matter():
    pixels = DIGITS.pixels.reshape(-1, 8, 8)
    halves = images_of(pixels / 32, DIGITS.y, "halves")
    # the same numbers but for the order of two divisions
    assert torch.allclose(ImagePair.of(halves, 3, 8).X, PAIR.X, rtol=0, atol=1e-14)


def test_a_sample_draws_rows_once_with_their_labels():
    sample = PAIR.sample(ROWS, stream(0, "train"))
    assert distinct(sample.X) == distinct(PAIR.X)
    assert not torch.equal(sample.X, PAIR.X)
    both = torch.cat([sample.X, sample.y], dim=1)
    assert torch.equal(
        torch.unique(both, dim=0), torch.unique(torch.cat([PAIR.X, PAIR.y], dim=1), dim=0)
    )


def test_the_generator_alone_decides_the_sample():
    before = torch.random.get_rng_state()
    one, two = (PAIR.sample(20, stream(1, "train")).X for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, PAIR.sample(20, stream(2, "train")).X)
    assert torch.equal(before, torch.random.get_rng_state())


def test_parts_are_apart_together_whole_and_stratified():
    train, test = PAIR.split(0.2, stream(0, "split"))
    assert len(train.y) + len(test.y) == ROWS
    assert distinct(torch.cat([train.X, test.X])) == distinct(PAIR.X)
    for label in (-1, 1):
        assert int((test.y == label).sum()) == round(0.2 * int((PAIR.y == label).sum()))
    assert (train.scale, train.name) == (PAIR.scale, PAIR.name)
    other = PAIR.split(0.2, stream(1, "split"))[1]
    assert not torch.equal(other.X, test.X)


def test_grey_is_brightness():
    pixels = np.zeros((4, 2, 2, 3), np.uint8)
    pixels[0, 0, 0] = [255, 0, 0]
    pixels[1, 0, 1] = [0, 255, 0]
    pixels[2, 1, 0] = [0, 0, 255]
    colours = images_of(pixels, np.array([0, 1, 0, 1]), "colours")
    grey = ImagePair.of(colours, 0, 1, grey=True)
    back = grey.X * grey.scale + grey.mean
    assert (grey.shape, ImagePair.of(colours, 0, 1).X.shape) == ((2, 2), (4, 12))
    expected = torch.tensor([[0.299, 0, 0, 0], [0, 0.587, 0, 0], [0, 0, 0.114, 0], [0] * 4])
    assert torch.allclose(back, expected.double(), atol=1e-7)  # 0.299 is a float32 in `expected`
    assert torch.equal(ImagePair.of(DIGITS, 3, 8, grey=True).X, PAIR.X)


def test_only_the_pair_is_converted(monkeypatch):
    shapes = []
    images_type = type(DIGITS)
    whole = images_type.rows

    def spy(self, where, *, grey=False):
        shapes.append(whole(self, where, grey=grey).shape)
        return whole(self, where, grey=grey)

    monkeypatch.setattr(images_type, "rows", spy)
    ImagePair.of(DIGITS, 3, 8)
    assert shapes == [(ROWS, 64)]
    assert DIGITS.pixels.dtype == np.uint8


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ((3, 11), r"no class 11 in digits: choose two of the labels 0, 1, 2, .*, 9\."),
        ((3, 3), "Both classes are 3"),
    ],
)
def test_labels_that_make_no_pair(labels, message):
    with pytest.raises(ValueError, match=message):
        ImagePair.of(DIGITS, *labels)


def test_equal_images_are_refused():
    with pytest.raises(ValueError, match="All images of blank are equal"):
        ImagePair.of(images_of(np.zeros((2, 3, 3)), np.array([0, 1]), "blank"), 0, 1)


@pytest.mark.parametrize(
    ("n", "message"), [(0, "0 rows was asked for: give at least 1"), (ROWS + 1, "has 357: ask for")]
)
def test_samples_that_cannot_be_drawn(n, message):
    with pytest.raises(ValueError, match=message):
        PAIR.sample(n, stream(0, "train"))


@pytest.mark.parametrize("share", [0.0, 1.0, -0.2, 0.001, 0.999, float("nan")])
def test_shares_that_leave_a_part_without_rows(share):
    with pytest.raises(ValueError, match="leaves no row in one part"):
        PAIR.split(share, stream(0, "split"))
