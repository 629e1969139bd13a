"""A page for each script of `gallery/examples`: its words, its code, what it printed and drew."""

from __future__ import annotations

import ast

import stored_results

HEAD = """# Examples

Short scripts that use gradfeat on data of their own. What they print and draw is stored by
`make results`.

"""


def pages(folder: str) -> dict[str, str]:
    """Markdown by file."""
    scripts = sorted((stored_results.GALLERY / "examples").glob("*.py"))
    names = [path.stem.replace("_", "-") for path in scripts]
    texts = [path.read_text("utf-8") for path in scripts]
    titles = [_words(text)[0] for text in texts]
    cards = stored_results.cards([(n, t, "") for n, t in zip(names, titles, strict=True)])
    tree = "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
    found = {f"{folder}/index.md": HEAD + cards + tree}
    return found | {f"{folder}/{n}.md": _page(n, t) for n, t in zip(names, texts, strict=True)}


def _words(text: str) -> tuple[str, str, str]:
    """Title, prose and code of a script."""
    tree = ast.parse(text)
    title, _, prose = (ast.get_docstring(tree) or "").partition("\n")
    return title.rstrip("."), prose.strip(), text.split('"""', 2)[2].strip()


def _page(name: str, text: str) -> str:
    title, prose, code = _words(text)
    stored = stored_results.facts(name) or {"printed": ""}
    parts = [f"# {title}\n", f"{prose}\n", f"```python\n{code}\n```\n"]
    if stored["printed"]:
        parts.append(f"It prints:\n\n```text\n{stored['printed'].rstrip()}\n```\n")
    parts.append(stored_results.figure(name, "What the script draws."))
    return "\n".join(parts)
