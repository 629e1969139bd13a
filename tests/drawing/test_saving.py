"""Files of figures: same bytes, by suffix, whole or not at all."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from gradfeat.drawing.panels import panels, save_figure


def example() -> Figure:
    figure, (ax,) = panels(1)
    ax.fill_between(np.arange(3.0), np.zeros(3), np.ones(3), color="#0072B2", alpha=0.18)
    ax.scatter(np.arange(3.0), np.ones(3))
    return figure


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")]
)
def test_the_same_figure_gives_the_same_bytes(tmp_path, name, start):
    save_figure(example(), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with mpl.rc_context({"savefig.facecolor": "red", "svg.fonttype": "none"}):
        save_figure(example(), str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == first
    assert first.startswith(start)
    assert b"Date" not in first
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_settings_are_as_they_were(tmp_path):
    before = dict(mpl.rcParams)
    save_figure(example(), tmp_path / "a.svg")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["a.jpg", "a", ".png"])
def test_other_suffixes_are_refused_in_a_sentence(tmp_path, name):
    with pytest.raises(ValueError, match=rf"named '{name}': end the name in \.png or \.svg or"):
        save_figure(example(), tmp_path / name)
    assert not list(tmp_path.iterdir())
