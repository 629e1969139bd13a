"""The two halves of the program are imported when they are used."""

from __future__ import annotations

import re
import subprocess
import sys

from cli.lab_files import GROWS, grows
from cli.tables import gradfeat
from gradfeat.cli.app import GROUPS
from gradfeat.lab import Store
from gradfeat.table.methods import METHODS

#: The experiment without its figure.
WORDS = GROWS.replace("from matplotlib.figure import Figure", "").replace("figure=figure,", "")

#: What costs seconds to import, and what words, counts and claims do without.
HEAVY = ("torch", "scipy.stats", "sklearn", "skrub", "matplotlib")

PROGRAM = """
import sys
from gradfeat.cli import app, guarded
code = max(guarded(app, words.split()) for words in sys.argv[2:])
print(code, [name for name in sys.argv[1].split() if name in sys.modules])
"""


def loaded(folder, *commands: str, of: tuple[str, ...] = HEAVY) -> str:
    """Run commands in one fresh process; return the worst code and which modules it has then."""
    command = [sys.executable, "-c", PROGRAM, " ".join(of), *commands]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_help_needs_no_library_of_numbers(folder):
    names = [name for group in GROUPS.values() for name in group]
    of = (*HEAVY, "pandas", "scipy")
    assert loaded(folder, "--help", *(f"{name} --help" for name in names), of=of) == "0 []"


def test_list_and_status_read_words_and_counts_alone(folder):
    Store.open(folder / "gradfeat.sqlite").close()
    of = (*HEAVY, "pandas", "scipy")
    assert loaded(folder, "list", "status", of=of) == "0 []"


def test_a_file_that_is_not_there_is_refused_without_libraries_of_numbers(folder):
    (folder / "m.gradfeat").touch()
    (folder / "t.csv").touch()
    commands = [
        "fit absent.csv --target y",
        "diagnose absent.csv --target y",
        "refit m.gradfeat absent.csv --target y --out n.gradfeat",
        "predict m.gradfeat absent.csv --out p.csv",
        "predict absent.gradfeat t.csv --out p.csv",
    ]
    assert loaded(folder, *commands, of=(*HEAVY, "pandas", "scipy")) == "2 []"


def test_show_judges_stored_numbers_without_what_computed_them(folder, capsys):
    gradfeat(capsys, "run", grows(folder, WORDS), "--no-figure")
    assert loaded(folder, "status", "show grows.py", of=(*HEAVY, "scipy")) == "0 []"


#: What theory says of the first and last small cell of every experiment: claims that are shown ask
#: for it.
THEORIES = """
import sys
from gradfeat.lab.loading import experiment, names
for one in map(experiment, names()):
    if one.theory:
        cells = [point.cell for point in one.points("quick", 1, one.small)]
        one.theory_table([cells[0], cells[-1]])
print([name for name in sys.argv[1:] if name in sys.modules])
"""


def test_theory_of_every_experiment_is_asked_without_torch():
    command = [sys.executable, "-c", THEORIES, *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_does_without_the_stack_of_tables(folder):
    of = ("torch", "sklearn", "skrub")
    assert loaded(folder, f"run {grows(folder)}", of=of) == "0 ['torch']"


def test_the_help_of_fit_names_every_method(capsys):
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", gradfeat(capsys, "fit", "--help").out).split())
    assert ", ".join(method.name for method in METHODS) in said


def test_the_commands_come_in_groups(capsys):
    said = gradfeat(capsys, "--help").out
    table, lab, both = (said.index(f"─ {name} ─") for name in ("Your table", "Lab", "Both"))
    assert table < said.index(" predict ") < lab < said.index(" verify ") < both
    assert both < said.index(" show ", both)
