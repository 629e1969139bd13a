"""What can be called: commands and their options, estimators, public names, experiments."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import numpy as np
import samples
from small_cells import small
from trees import PLACES, every_module, modules, named

import gradfeat

#: One capability: where it stands, and what is known of it.
Found = Iterator[tuple[str, Any]]

#: Public functions and classes that README, docs and benchmarks name by their module.
DOCUMENTED = (
    ("diagnose", "diagnose"),
    ("Request", "diagnose"),
    ("predict_error", "predicted_errors"),
    ("experiment", "loading"),
    ("names", "loading"),
    ("local_cluster", "dask_client"),
)

#: Rooms whose public names are listed; none of them is promised by itself.
ROOMS = ("maths", "models", "tasks", "theory", "diagnostics", "drawing")


def commands() -> Found:
    """Every command with its options and arguments."""
    import typer

    app = importlib.import_module("gradfeat.cli").app
    app = getattr(app, "app", app)  # the object, where the module of that name is in its place
    group: Any = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):
        yield f"command/{name}", ""
        for param in command.params:
            words = [*param.opts, *param.secondary_opts]
            label = " ".join(words) if param.param_type_name == "option" else param.name.upper()
            yield f"command/{name}/{label}", _parameter(param)


def is_enum(kind: Any) -> bool:
    """Whether a type of an option is one; `Any | None` and the like are no classes."""
    return inspect.isclass(kind) and issubclass(kind, enum.Enum)


def _parameter(param: Any) -> dict[str, Any]:
    about = param.type_descriptor
    kind, asked = about.annotation, about.parameter_info
    choices = [str(one.value) for one in kind] if is_enum(kind) else []
    choices = [*get_args(kind)] if get_origin(kind) is Literal else choices
    found = {
        "type": "choice" if choices else kind.__name__,
        "required": param.required,
        "default": None if param.required else _plain(param.default),
        "many": param.nargs != 1 or param.multiple,
        "choices": choices,
        "range": [asked.min, asked.max],
    }
    return {k: v for k, v in found.items() if v not in (None, [], [None, None], False)}


def _plain(value: Any) -> Any:
    value = getattr(value, "value", value)
    return value if isinstance(value, int | float | bool) or value is None else str(value)


def signature(function: Any) -> str:
    """Parameters with their defaults, without annotations; those given by name in their order."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    found = sorted(found, key=lambda p: p.name if p.kind is p.KEYWORD_ONLY else "")
    said = ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in found)
    return re.sub(r" at 0x[0-9a-f]+", "", said)


def estimators() -> Found:
    """Every public estimator: parameters, methods, attributes of a fit, whether rows may stream."""
    for name in sorted(gradfeat.__all__):
        kind = getattr(gradfeat, name)
        if not inspect.isclass(kind) or not _is_complete(kind):
            continue
        for p in list(inspect.signature(kind).parameters.values()):
            yield f"estimator/{name}/parameter/{p.name}", repr(p.default)
        fitted = _fitted(name, kind)
        for attribute in sorted(a for a in dir(fitted) if not a.startswith("_")):
            known, value = _tried(fitted, attribute)
            if known and callable(value) and not attribute.endswith("_"):
                yield f"estimator/{name}/method/{attribute}", signature(value)
            elif known and not attribute.startswith("set_"):
                yield f"estimator/{name}/attribute/{attribute}", ""
        yield f"estimator/{name}/fits rows that stream", _streams(name, kind)


def _is_complete(kind: Any) -> bool:
    """Whether it needs nothing to be made; TableModel needs the estimator that it holds."""
    parameters = inspect.signature(kind).parameters.values()
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters)


def _tried(fitted: Any, attribute: str) -> tuple[bool, Any]:
    try:
        return True, getattr(fitted, attribute)
    except AttributeError:
        return False, None


def _fitted(name: str, kind: Any) -> Any:
    data = samples.made(60)
    labels = name.endswith("Classifier")
    return kind().fit(data.X, samples.labels(data.y) if labels else data.y)


def _streams(name: str, kind: Any) -> str:
    data = samples.made(200)
    y = (data.y > 0).astype(float) if name.endswith("Classifier") else data.y
    try:
        kind().fit(named("from_arrays", "rows")(data.X, y, piece_rows=70))
    except (ValueError, TypeError) as error:
        return f"no: {type(error).__name__}"
    return "yes"


def public_names() -> Found:
    """Names of the public packages and of what the documentation names."""
    packages: dict[str, ModuleType] = {"gradfeat": gradfeat}
    for place in ("rows", "lab"):
        packages[place] = modules(place)[0]
    for place, package in packages.items():
        for name in sorted(package.__all__):
            yield f"public/{place}/{name}", signature(getattr(package, name))
    for name, place in DOCUMENTED:
        yield f"documented/{PLACES[place][0]}.{name}", signature(named(name, place))
    yield "documented/gradfeat.lab.DaskExecutor", _present("DaskExecutor", "dask_executor")


def _present(name: str, place: str) -> str:
    try:
        named(name, place)
    except LookupError:
        return "no"
    return "yes"


def inventory() -> Found:
    """Public functions and classes of the rooms below the estimators, wherever they stand."""
    for module in every_module():
        room = module.__name__.split(".")[1] if "." in module.__name__ else ""
        if room in ROOMS:
            for name, value in sorted(vars(module).items()):
                own = getattr(value, "__module__", None) == module.__name__
                if own and not name.startswith("_") and callable(value):
                    yield f"inventory/{room}/{name}", ""


def experiments() -> Found:
    """Every experiment: factors, size of its grids, claims, metrics, what theory predicts."""
    load, run = named("experiment", "loading"), named("run", "lab")
    for name in named("names", "loading")():
        found = load(name)
        yield f"experiment/{name}", found.question
        for factor in sorted(found.factors):
            yield f"experiment/{name}/factor/{factor}", found.factors[factor].kind.__name__
        for scale in sorted(found.grids):
            sizes = {"cells": len(found.cells(scale)), "seeds": len(found.seed_list(scale))}
            yield f"experiment/{name}/grid/{scale}", sizes
        for claim in found.claims:
            yield f"experiment/{name}/claim/{claim.text}", claim.source
        yield f"experiment/{name}/figure", found.figure is not None
        yield f"experiment/{name}/version", found.version
        table = run(found, seeds=1, arrays=True, **small(found))
        cells = table[list(found.factors)].drop_duplicates().to_dict("records")
        theory = found.theory_table(cells[:1])
        yield f"experiment/{name}/theory", theory is not None
        for metric in sorted(set(table.columns) - {"seed", *found.factors}):
            yield f"experiment/{name}/metric/{metric}", np.asarray(table[metric].iloc[0]).ndim
        for metric in sorted(set() if theory is None else {*theory.columns} - {*found.factors}):
            yield f"experiment/{name}/predicted/{metric}", ""
