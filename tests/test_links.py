"""The check of the built site's links."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

import links


def test_links_to_nothing_and_lonely_pages_are_told(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="a.html#here">a</a> <a href="a.html#gone">b</a> <a href="c.html">c</a>'
        '<img src="p.png"><a href="https://x.org/y">far</a>'
    )
    (tmp_path / "a.html").write_text('<h1 id="here">a</h1>')
    (tmp_path / "b.html").write_text('<a href="index.html">up</a>')
    assert links.faults(tmp_path) == [
        "index.html: a.html#gone is no place",
        "index.html: c.html is no file",
        "index.html: p.png is no file",
        "b.html: no page links to it",
    ]
