"""Mathematics by KaTeX, which stands in `_static/katex`: no page asks another machine for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.nodes import SkipNode, math, math_block

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

#: Runs on the spans and blocks below alone, once the page is read.
START = r"""
document.addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll(".math").forEach((node) =>
    katex.render(node.textContent, node,
      {displayMode: node.tagName === "DIV", throwOnError: false})));
"""


def inline(self: HTML5Translator, node: math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate"))
    self.body.append(f"{self.encode(node.astext())}</span>")
    raise SkipNode


def block(self: HTML5Translator, node: math_block) -> None:
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate"))
    self.body.append(f"{self.encode(node.astext())}</div>")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.config.html_math_renderer = "katex"
    app.add_css_file("katex/katex.min.css")
    app.add_js_file("katex/katex.min.js")
    app.add_js_file(None, body=START)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
