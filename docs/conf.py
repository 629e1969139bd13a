"""How Sphinx builds the site: `make docs`. Nothing is fetched while it builds or is read."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

import gradfeat  # noqa: E402

project = "gradfeat"
author = "The gradfeat contributors"
copyright = author
version = release = gradfeat.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "katex",
    "plain_docstrings",
    "generated_pages",
    "explorer_page",
    "repository_links",
]
exclude_patterns = ["_build", "_extensions", "_templates", "**/*.py"]
templates_path = ["_templates"]
default_role = "code"
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
#: Outputs of commands and formulas in plain letters are no language that Pygments knows.
highlight_language = "none"

html_theme = "pydata_sphinx_theme"
html_title = f"gradfeat {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gradfeat"},
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [
        {
            "name": "Source",
            "url": "https://github.com/gradfeat/gradfeat",
            "icon": "fa-brands fa-github",
        }
    ],
}
