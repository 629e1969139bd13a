"""The text of a trial holds what the trial reaches, and nothing else."""

from __future__ import annotations

import importlib
import itertools
import sys

import pytest

from gradfeat.lab.source import digest_of

TRIAL = """
from __future__ import annotations
import math
from gradfeat.lab import Experiment, above
from gradfeat.maths.ranges import at_least, one_of
from source_parts import half
KINDS = {"small": "a small one", "large": "a large one"}
SCALES = {"small": 1.0}
SCALES["large"] = 2.0
SCALES.update(huge=3.0)
for key in ("tiny",):
    SCALES[key] = 0.5
TITLE = "Does it grow?"

def figure(table, theory):
    return TITLE

def trial(n: int, kind: str = "small", *, seed: int) -> dict[str, float]:
    from source_parts import Shape
    one_of(KINDS, kind=kind)
    at_least(1, n=n)
    title = figure = "local"
    claims = [Shape(float(i)).size() for i in range(n)]
    return {"value": half(math.pi * SCALES[kind]) + sum(claims) + len(title + figure)}

EXPERIMENT = Experiment(
    "grows", "Does it grow?", trial, {"quick": {"n": list(range(3)), "kind": sorted(SCALES)}},
    checks={"Three is large. [Page 1]": above("value", float(math.pi))}, figure=figure,
)
"""
PARTS = """
import dataclasses
WORDS = "half"
FACTOR = 0.5

def half(x):
    \"\"\"Half.\"\"\"
    return _times(x)

def _times(x):
    return FACTOR * x

def unused(x):
    return WORDS * x

@dataclasses.dataclass
class Shape:
    side: float

    def size(self) -> float:
        return self.side**2
"""


@pytest.fixture
def text_of(tmp_path, monkeypatch):
    """The digest of `trial` in files of these texts."""
    folders = (tmp_path / str(i) for i in itertools.count())
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def text(trial: str, parts: str = PARTS, **more: str) -> str:
        folder = next(folders)
        folder.mkdir()
        for name, words in {"source_case": trial, "source_parts": parts, **more}.items():
            (folder / f"{name}.py").write_text(words)
            sys.modules.pop(name, None)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            return digest_of(importlib.import_module("source_case").trial)

    return text


IMPORTS = "from source_parts import half\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('TITLE = "Does it grow?"', 'TITLE = "Does it fall?"'),
        ('"grows", "Does it grow?"', '"grows", "Is it so?"'),
        ("Three is large.", "Three is more."),
        ("float(math.pi)", "float(math.e)"),
        ("list(range(3))", "list(range(4))"),
        ("a small one", "the smallest"),
        ("    at_least(1, n=n)\n", ""),
        ("return TITLE", "return TITLE + TITLE"),
        ('"""Half."""', '"""One half."""'),
        ('WORDS = "half"', 'WORDS = "part"'),
        ("return WORDS * x", "return x"),
        ("import math\n", "import math\nimport sys\nassert sys.path\n"),
        ("", ""),
    ],
)
def test_what_a_trial_does_not_reach_is_no_part_of_its_text(text_of, old, new):
    assert text_of(TRIAL) == text_of(TRIAL.replace(old, new), PARTS.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"small": 1.0}', '{"small": 1.5}'),
        ('SCALES["large"] = 2.0', 'SCALES["large"] = 2.5'),
        ("update(huge=3.0)", "update(huge=3.5)"),
        ("SCALES[key] = 0.5", "SCALES[key] = 0.25"),
        ("import math\n", "import cmath as math\n"),
        ("float(i)", "float(i + 1)"),
        ("FACTOR = 0.5", "FACTOR = 0.25"),
        ("return FACTOR * x", "return x * FACTOR"),
        ("self.side**2", "self.side**3"),
        ('kind: str = "small"', 'kind: str = "large"'),
        (IMPORTS, "from source_parts import unused as half\n"),
    ],
)
def test_what_a_trial_reaches_is_its_text(text_of, old, new):
    assert text_of(TRIAL) != text_of(TRIAL.replace(old, new), PARTS.replace(old, new))


def test_a_part_is_the_same_in_another_file(text_of):
    first, rest = PARTS.split("@dataclasses.dataclass\n")
    moved = f"import dataclasses\n@dataclasses.dataclass\n{rest}"
    again = TRIAL.replace("    from source_parts import Shape\n", "")
    within = again.replace(IMPORTS, IMPORTS + "from source_parts import Shape\n")
    beside = again.replace(IMPORTS, IMPORTS + "from source_shapes import Shape\n")
    assert text_of(within) == text_of(beside, first, source_shapes=moved)
    assert text_of(within) != text_of(beside, first, source_shapes=moved.replace("**2", "**4"))


def test_constants_that_change_places_are_told(text_of):
    both = "A = 1\nB = 2\n\ndef half(x):\n    return A * x\n\ndef Shape(x):\n    return B * x\n"
    swapped = both.replace("A = 1\nB = 2", "A = 2\nB = 1")
    assert text_of(TRIAL, both) != text_of(TRIAL, swapped)


@pytest.mark.parametrize("line", ["import source_parts as parts\n", "from source_parts import *\n"])
def test_a_file_that_is_imported_whole_counts(text_of, line):
    trial = TRIAL.replace(IMPORTS, line).replace("half(math", "parts.half(math")
    trial = trial.replace("parts.half", "half") if "*" in line else trial
    assert text_of(trial) != text_of(trial, PARTS.replace("FACTOR = 0.5", "FACTOR = 0.25"))


def test_of_other_packages_the_name_and_the_package_count(text_of):
    trial = TRIAL.replace("import math", "from PLACE as math").replace("float(math.pi)", "1.0")
    trial = trial.replace("math.pi", "math.ELEMENT_NODE")
    one = text_of(trial.replace("PLACE", "xml.dom import Node"))
    assert one == text_of(trial.replace("PLACE", "xml.dom.minidom import Node"))
    assert one != text_of(trial.replace("PLACE", "xml.dom import minidom"))


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("MADE = {}\ndef add(f):\n    MADE[f.__name__] = f\n@add\ndef one(): return 1", "return 1"),
        ("MADE = []\ndef add(x): _add(x)\ndef _add(x): MADE.append(x)\nadd(1)", "add(1)"),
        ("MADE = 0\ndef setting():\n    global MADE\n    MADE = 1\nsetting()", "MADE = 1"),
        ("import contextlib\nwith contextlib.nullcontext(1) as MADE:\n    pass", "(1) as"),
        ("match 1:\n    case MADE:\n        pass", "match 1"),
        ("(MADE := 1)", ":= 1"),
    ],
)
def test_what_calls_and_decorators_put_into_a_variable_is_its_text(text_of, before, change):
    text = f"{before}\ndef trial(*, seed): return MADE\n"
    assert text_of(text) != text_of(text.replace(change, change.replace("1", "2")))


def test_what_the_maker_of_a_trial_gave_is_its_text(text_of):
    made = "def made(k):\n    def trial(*, seed): return k\n    return trial\n"
    assert text_of(f"{made}trial = made(1)\n") != text_of(f"{made}trial = made(2)\n")
    assert text_of(f"{made}trial = made(1)\n") == text_of(f"{made}trial = made(1)  # one\n")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("import functools as f\ndef g(k, *, seed): return k\ntrial = f.partial(g, 1)", "1", "2"),
        ("class T:\n    def __init__(self, k): self.k = k\n    def __call__(self, *, seed):"
         " return self.k\ntrial = T(1)", "1", "2"),
        ("class T:\n    def __init__(self, k): self.k = k\n    def run(self, *, seed):"
         " return self.k\ntrial = T(1).run", "1", "2"),
        ("class T:\n    def half(self): return 1\n    def run(self, *, seed): return self.half()\n"
         "trial = T().run", "return 1", "return 2"),
        ("class T:\n    K = 1\n    @classmethod\n    def run(cls, *, seed): return cls.K\n"
         "trial = T.run", "K = 1", "K = 2"),
        ("import functools\ndef scaled(f):\n    @functools.wraps(f)\n    def g(*, seed):"
         " return 1 * f(seed=seed)\n    return g\ndef f(*, seed): return 3\ntrial = scaled(f)",
         "1 *", "2 *"),
        ("def made(f):\n    def trial(*, seed): return f(seed)\n    return trial\n"
         "def f(x): return 1 + x\ntrial = made(f)", "1 +", "2 +"),
        ("a, trial = (lambda *, seed: 1), (lambda *, seed: 2)", "2)", "3)"),
    ],
)  # fmt: skip
def test_callables_of_every_kind_have_what_they_were_made_of(text_of, text, old, new):
    assert text.count(old) == 1
    assert text_of(text) == text_of(f"{text}  # a remark")
    assert text_of(text) != text_of(text.replace(old, new))
