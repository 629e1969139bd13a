"""Pages of the public API: a table of each package's names, and a page for every name."""

from __future__ import annotations

from importlib import import_module

from gradfeat import errors

#: Packages whose `__all__` is the API, with what they are for.
PACKAGES = {
    "gradfeat": "Estimators, comparison and diagnosis of tables, models in files.",
    "gradfeat.rows": "Rows that need not fit in memory, and what computes over them.",
    "gradfeat.lab": "Experiments, claims and stores.",
    "gradfeat.figures": "Figures from results.",
}
#: Modules that are used by their full name, each on one page.
MODULES = {
    "Kernels": ("radial", "dot_product", "rotation_invariant", "network"),
    "Theory": (
        *("predicted_errors", "one_step_errors", "finite_step_errors", "one_step_spectrum"),
        *("ridge_errors", "kernel_curve", "zonal_spectrum", "damian22_rates", "bounds", "patterns"),
    ),
    "Tasks": ("single_index", "multi_index", "sparse_coding", "gaussian_mixture", "parity_blocks"),
    # Packages have them too; a page of sources links to one place a module.
    "Errors": ("errors",),
}
PLACES = {
    "Kernels": "gradfeat.models.kernels",
    "Theory": "gradfeat.theory",
    "Tasks": "gradfeat.tasks",
    "Errors": "gradfeat",
}

HEAD = """# Python

Everything here may be imported; what is not here may move. Arrays are (rows, columns), formulas
use the [notation](../../../notation.md).
"""


def pages(folder: str) -> dict[str, str]:
    """Markdown by file."""
    found = {f"{folder}/{name}.md": _package(name, words) for name, words in PACKAGES.items()}
    for title, modules in MODULES.items():
        found[f"{folder}/{title.lower()}.md"] = _modules(title, modules)
    names = [*PACKAGES, *(title.lower() for title in MODULES)]
    rows = [f"- [{name}]({name}.md): {words}" for name, words in PACKAGES.items()]
    rows += [f"- [{PLACES[title]}]({title.lower()}.md)" for title in MODULES]
    tree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    found[f"{folder}/index.md"] = f"{HEAD}\n" + "\n".join(rows) + f"\n\n{tree}\n"
    return found


def _package(name: str, words: str) -> str:
    package = import_module(name)
    own = [one for one in sorted(package.__all__) if one not in vars(errors)]
    listed = "\n".join(f"{name}.{one}" for one in own)
    table = "```{eval-rst}\n.. autosummary::\n   :toctree: names\n   :nosignatures:\n\n"
    indented = "\n".join(f"   {one}" for one in listed.splitlines())
    return f"# {name}\n\n{words}\n\n{table}{indented}\n```\n"


def _modules(title: str, modules: tuple[str, ...]) -> str:
    parts = [f"# {title}\n\n{import_module(PLACES[title]).__doc__ or ''}"]
    for module in modules:
        full = f"{PLACES[title]}.{module}"
        parts.append(f"## {module}\n\n```{{eval-rst}}\n.. automodule:: {full}\n   :members:\n```\n")
    return "\n".join(parts)
