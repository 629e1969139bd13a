"""The two halves of the program are imported when they are used."""

from __future__ import annotations

import re
import subprocess
import sys

from cli.lab_files import grows
from cli.tables import gradfeat
from gradfeat.table.methods import METHODS

PROGRAM = """
import sys
from gradfeat.cli import app, guarded
code = guarded(app, sys.argv[1:])
print(code, [name for name in ("torch", "sklearn", "skrub") if name in sys.modules])
"""


def loaded(folder, *words: str) -> str:
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_help_needs_no_library_of_numbers(folder):
    assert loaded(folder, "--help") == "0 []"
    assert loaded(folder, "run", "--help") == "0 []"


def test_a_run_does_without_the_stack_of_tables(folder):
    assert loaded(folder, "run", grows(folder)) == "0 ['torch']"


def test_the_help_of_fit_names_every_method(capsys):
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", gradfeat(capsys, "fit", "--help").out).split())
    assert ", ".join(method.name for method in METHODS) in said


def test_the_commands_come_in_groups(capsys):
    said = gradfeat(capsys, "--help").out
    table, lab, both = (said.index(f"─ {name} ─") for name in ("Your table", "Lab", "Both"))
    assert table < said.index(" predict ") < lab < said.index(" verify ") < both
    assert both < said.index(" show ", both)
