"""Blocks of README and docs: every command has the options shown, every block runs or says why."""

from __future__ import annotations

import doctest
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from gradfeat.cli import app

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))

import commands  # noqa: E402


def test_examples_of_the_script():
    assert doctest.testmod(commands).failed == 0


def test_commands_and_options_exist():
    program: Any = typer.main.get_command(app)
    for page in commands.pages():
        for block in commands.blocks(page.read_text("utf-8")):
            if block.language in ("bash", "sh"):
                _check_options(program, block.text)


def _check_options(program: Any, text: str) -> None:
    for line in commands.commands(text):
        words = shlex.split(line)
        if words[0] == "gradfeat" and words[1] != "--version":
            known = {o for p in program.commands[words[1]].params for o in _options(p)}
            used = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert used <= known | {"--help"}, line


def _options(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]


def test_a_page_that_says_another_thing_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "ROOT", tmp_path)
    (tmp_path / "examples").mkdir()
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('a 1')\n```\n\n```text\na 2\n```\n")
    assert commands.run_page(page, write=False) == []
    page.write_text("```python\nprint('b')\n```\n\n```text\na\n```\n")
    assert len(commands.run_page(page, write=False)) == 1
    assert commands.run_page(page, write=True) == []
    assert "```text\nb\n```" in page.read_text()


@pytest.mark.slow
def test_every_block_runs_and_prints_what_its_page_says():
    script = ROOT / "tools" / "commands.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
