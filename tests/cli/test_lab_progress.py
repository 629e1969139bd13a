"""Progress: few plain lines, the last one always; a bar and its last count on a terminal."""

from __future__ import annotations

import io

from gradfeat.cli.lab.run import CellBar
from gradfeat.cli.terminal import StepBar, Terminal
from gradfeat.lab import Progress


def told(terminal: bool, times: list[float], monkeypatch) -> str:
    """What ten cells print, finished at these times."""
    out, clock = io.StringIO(), iter(times)
    now = [0.0]
    monkeypatch.setattr("gradfeat.cli.terminal.time.monotonic", lambda: now[0])
    console = Terminal(file=out, force_terminal=terminal, width=80)
    with CellBar(console, "demo [x]") as bar:
        for done in range(11):
            now[0] = next(clock)
            bar.tell(Progress(done, 10, done // 5, 0, now[0], 100.0))
    return out.getvalue()


def test_quick_cells_print_the_first_and_the_last_line(monkeypatch):
    lines = told(False, [0.1 * i for i in range(11)], monkeypatch).splitlines()
    assert lines[0].startswith("demo [x]: 0 of 10 cells")
    assert lines[1:] == ["demo [x]: 10 of 10 cells, 2 failed"]


def test_slow_cells_print_a_line_every_few_seconds(monkeypatch):
    lines = told(False, [3.0 * i for i in range(11)], monkeypatch).splitlines()
    assert [line.split()[2] for line in lines] == ["0", "2", "4", "6", "8", "10"]
    assert lines[1] == "demo [x]: 2 of 10 cells, about 1 min 40 s left"


def test_a_terminal_keeps_the_last_count(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = told(True, [0.1 * i for i in range(11)], monkeypatch)
    assert "━" in out
    assert out.endswith("demo [x]: 10 of 10 cells, 2 failed\n")


def test_steps_print_a_line_in_a_few_seconds_whatever_they_tell(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("gradfeat.cli.terminal.time.monotonic", lambda: now[0])
    out = io.StringIO()
    steps = StepBar(Terminal(file=out, width=80))
    for name in ("Linear model", "Page"):
        with steps as bar:
            for k in range(9):
                bar.tell(name, 0.5, "")
                bar.tell(name, 0.5, f"figure {k}")
                now[0] += 1.0
    said = [line.split("%")[1].strip() for line in out.getvalue().splitlines()]
    assert said == ["Linear model", "Page", "Page"]


def test_a_silent_step_is_told_when_the_pause_is_over():
    out = io.StringIO()
    with StepBar(Terminal(file=out, width=80), pause=0.05) as bar:
        bar.tell("Reading", 0.0, "")
        bar.tell("Trained network", 0.5, "")
        bar._timer.join(10)
    assert out.getvalue().endswith("50 %  Trained network\n")
