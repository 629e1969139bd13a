"""The map of neurons: what is drawn where."""

from __future__ import annotations

import numpy as np
import pytest

from gradfeat.drawing.neuron_map import ColorScale, draw_neuron_maps
from gradfeat.drawing.panels import panels, shared_key

RNG = np.random.default_rng(0)
LAYOUTS = [RNG.standard_normal((30, 2)) * size for size in (1.0, 2.0, 3.0)]
NONE = np.empty((0, 2))
TRUTH = np.array([[1.0, 4.0], [-1.0, -4.0]])
TITLES = ["before", "after step 1", "after step 2"]
SHADE = ColorScale([RNG.uniform(size=30) for _ in range(3)], "|cos|")


def _panels(layouts, titles, scale, stars=None):
    figure, axes = panels(len(layouts), len(layouts), (2.9, 3.0))
    draw_neuron_maps(figure, axes, layouts, titles, scale, stars)
    shared_key(figure, axes)
    return figure


def test_panels_share_limits_that_hold_every_point_and_star():
    figure = _panels(LAYOUTS, TITLES, SHADE, [NONE, TRUTH, TRUTH])
    axes = figure.axes[:3]
    every = np.concatenate([*LAYOUTS, TRUTH])
    for ax in axes:
        assert (ax.get_xlim(), ax.get_ylim()) == (axes[0].get_xlim(), axes[0].get_ylim())
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        assert right - left == pytest.approx(top - bottom)
        assert (every > [left, bottom]).all()
        assert (every < [right, top]).all()
    assert [ax.get_title(loc="left") for ax in axes] == TITLES


def test_points_are_the_neurons_and_stars_lie_under_them():
    figure = _panels(LAYOUTS, TITLES, SHADE, [NONE, TRUTH, TRUTH])
    for ax, layout, values, star in zip(
        figure.axes, LAYOUTS, SHADE.values, [np.empty((0, 2)), TRUTH, TRUTH], strict=False
    ):
        dots, stars = ax.collections
        assert np.array_equal(dots.get_offsets(), layout)
        assert np.array_equal(dots.get_array(), values)
        assert np.array_equal(stars.get_offsets(), star)
        assert stars.get_zorder() < dots.get_zorder()
    assert figure.axes[3].get_ylabel() == "|cos|"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["true direction"]


def test_signs_have_two_hues_around_zero():
    shade = ColorScale([np.array([-1.0, 1.0])], "sign of the head", -1, 1)
    dots = _panels([TRUTH], ["signs"], shade).axes[0].collections[0]
    negative, positive = dots.cmap(dots.norm([-1.0, 1.0]))[:, :3]
    assert negative[2] > negative[0]  # blue
    assert positive[0] > positive[2]  # orange
