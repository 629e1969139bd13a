"""run: what is computed, what is kept, what is printed; files of figures; Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.lab_files import FAILS, GROWS, HELD, calls, grows, refused, stored, well
from cli.tables import gradfeat


def test_a_first_run_computes_and_a_second_one_computes_nothing(capsys, folder):
    name = grows(folder)
    out = well(capsys, "run", name)
    assert len(calls(folder)) == 6
    assert "grows: 6 of 6 cells" in out
    again = well(capsys, "run", name)
    assert len(calls(folder)) == 6
    assert "6 were there before" in again
    assert "Three is large." in again
    assert "Theorem 1" in again
    assert "holds" in again


def test_a_run_goes_on_where_an_earlier_one_ended(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--seeds", 1)
    well(capsys, "run", name, "--seeds", 3)
    assert len(calls(folder)) == len(set(calls(folder))) == 9


def test_set_replaces_values_and_reads_them_as_the_trial_has_them(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--set", "n=1e1, 20", "--set", "kind=x", "--set", "noise=0")
    table = stored(folder)
    assert table["n"].tolist() == [10, 10, 20, 20]
    assert set(table["kind"]) == {"x"}
    assert table["value"].tolist() == [10.0, 10.0, 20.0, 20.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "m=1"], "'m' is no setting"),
        (["--set", "nois=1"], "did you mean 'noise'"),
        (["--set", "n=many"], "n is 'many': give a number"),
        (["--set", "n=1.5"], "give a whole number"),
        (["--set", "noise=nan"], "give a finite number"),
        (["--set", "n"], "is not NAME=VALUE"),
        (["--set", "n="], "is not NAME=VALUE"),
        (["--set", "n=1,,2"], "is not NAME=VALUE"),
        (["--set", "n=1", "--set", "n=2"], "gives 'n' twice"),
        (["--set", "store=x"], "'store' is no setting"),
        (["--set", "seed=1"], "'seed' is no setting"),
        (["--scale", "papr"], "did you mean 'paper'"),
        (["--seeds", "0"], "--seeds"),
        (["--seeds", "many"], "--seeds"),
        (["--jobs", "0"], "--jobs"),
        (["--device", "abacus"], "'abacus'"),
        (["--device", "meta"], "'meta'"),
        (["--format", "png,jpg"], "'jpg'"),
        (["--format", ""], "the value of --format is empty"),
        (["--figures", "grows.py"], "is a file"),
    ],
)
def test_a_request_that_makes_no_sense_computes_nothing(capsys, folder, words, said):
    name = grows(folder)
    assert said in refused(capsys, "run", name, *words)
    assert [path.name for path in folder.iterdir()] == ["grows.py"]


def test_two_jobs_give_the_numbers_of_one(capsys, folder):
    name = grows(folder)
    well(capsys, "run", name, "--jobs", 2, "--store", "two.db", "--no-figure")
    well(capsys, "run", name, "--no-figure")
    assert stored(folder, "two.db").equals(stored(folder))


def test_failed_cells_are_told_kept_and_tried_again_on_request(capsys, folder):
    name = grows(folder)
    words = ("run", name, "--scale", "paper", "--no-figure")
    ran = gradfeat(capsys, *words)
    assert ran.code == 1
    assert "2 of 6 cells failed" in ran.out
    assert "n=9, seed=0: ArithmeticError: no nine with [seed] 0" in ran.out
    hint = next(line for line in ran.out.splitlines() if line.startswith("tracebacks: gradfeat "))
    shown = well(capsys, *hint.removeprefix("tracebacks: gradfeat ").split())
    assert shown.count("Traceback (most recent call last)") == 2
    assert "no nine with [seed] 1" in shown

    (folder / "mended").touch()
    assert gradfeat(capsys, *words).code == 1
    assert len(calls(folder)) == 6
    assert "failed" not in well(capsys, *words, "--retry-failed")
    assert len(calls(folder)) == 8


@pytest.mark.usefixtures("folder")
def test_settings_that_a_trial_refuses_are_not_advised_to_be_tried_again(capsys):
    words = ("--set", "n=5000", "--set", "target=step", "--set", "iterations=10", "--seeds", 1)
    ran = gradfeat(capsys, "run", "kernel-iterations", *words, "--no-figure")
    assert "n is 5,000: give 4,000 or less." in ran.out
    assert "the trial refuses these settings: give others" in ran.out
    assert "--retry-failed" not in ran.out


@pytest.mark.usefixtures("folder")
def test_a_scale_given_as_an_option_is_told_how(capsys):
    assert "(--scale quick, of run and verify)" in refused(capsys, "run", "adapt-smooth", "--quick")


def test_many_failures_are_counted_not_listed(capsys, folder):
    ran = gradfeat(capsys, "run", grows(folder), "--set", "n=9", "--seeds", 7)
    assert ran.code == 1
    assert ran.out.count("ArithmeticError") == 3
    assert "and 4 more" in ran.out


def test_claims_that_fail_do_not_change_the_exit_code(capsys, folder):
    out = well(capsys, "run", grows(folder, FAILS))
    assert "fails" in out
    assert "bound 9" in out


MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF"}


def test_figures_in_each_format(capsys, folder):
    out = well(capsys, "run", grows(folder), "--format", "png,SVG, pdf", "--figures", "a/b")
    for kind, start in MAGIC.items():
        path = folder / "a" / "b" / f"grows-quick.{kind}"
        assert path.read_bytes().startswith(start)
        assert f"a/b/grows-quick.{kind}" in out


def test_a_run_says_how_to_see_its_numbers(capsys, folder):
    name = grows(folder)
    out = well(capsys, "run", name, "--seeds", 3, "--set", "n=4,5", "--store", "s.db")
    command = out.split("Means over seeds: gradfeat ")[1].splitlines()[0]
    assert "scale quick, 3 seeds, n=4,5: 6 of 6 cells" in well(capsys, *command.split())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="of Linux only")
def test_nowhere_to_print_to(folder):
    name = grows(folder)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gradfeat", "run", name],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "gradfeat: the disk is full: free space and run again.\n"


def test_no_figure_draws_none(capsys, folder):
    assert "Figure" not in well(capsys, "run", grows(folder), "--no-figure")
    assert not (folder / "figures").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [("raise KeyError('no')", "KeyError"), ("return 3", "is a int"), ("return None", "NoneType")],
)
def test_a_figure_that_does_not_come_out_loses_no_results(capsys, folder, body, said):
    name = grows(folder, GROWS.replace("drawn = Figure()", body))
    ran = gradfeat(capsys, "run", name)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert len(stored(folder)) == 6
    assert "Three is large." in ran.out


def test_a_claim_that_cannot_be_checked_is_one_sentence(capsys, folder):
    name = grows(folder, GROWS.replace('above("value"', 'above("valu"'))
    ran = gradfeat(capsys, "run", name, "--no-figure")
    assert ran.code == 2
    assert "'Three is large.'" in ran.err
    assert "did you mean 'value'" in ran.err
    assert len(stored(folder)) == 6


def test_several_experiments_in_one_run(capsys, folder):
    grows(folder)
    (folder / "other.py").write_text(GROWS.replace('"grows"', '"other"'))
    out = well(capsys, "run", "grows.py", "other.py", "grows.py")
    assert out.count("grows: 6 of 6 cells") == 1
    assert "other: 6 of 6 cells" in out


def test_two_experiments_of_one_name_are_refused(capsys, folder):
    grows(folder)
    (folder / "other.py").write_text(GROWS)
    assert "are both called 'grows'" in refused(capsys, "run", "grows.py", "other.py")
    assert not (folder / "gradfeat.sqlite").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no EXPERIMENT"),
        ("1 +", "line 1"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        (GROWS.replace("n: int, noise", "n, jobs: int, noise"), "'jobs' cannot name a parameter"),
        (GROWS.replace('"grows"', '"shi22-accuracy"'), "a shipped experiment"),
    ],
)
def test_a_file_that_is_no_experiment(capsys, folder, text, said):
    assert said in refused(capsys, "run", grows(folder, text))
    assert said in refused(capsys, "list", "grows.py")


def test_a_name_that_is_none(capsys, folder):
    assert "did you mean 'shi22-accuracy'" in refused(capsys, "run", "shi22-acuracy")
    assert "there is no file" in refused(capsys, "run", "absent.py")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_ctrl_c_keeps_what_is_finished_and_says_so(folder, jobs):
    slow = GROWS.replace("    if n == 9", HELD)
    name = grows(folder, slow)
    words = [sys.executable, "-m", "gradfeat", "run", name, "--seeds", "40", "--no-figure"]
    process = subprocess.Popen(
        [*words, "--jobs", jobs],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 600
    while len(calls(folder)) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for _ in range(3):  # an impatient finger
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert len(err.splitlines()) == 1, err
    done = len(stored(folder))
    assert 0 < done < 120
    assert f"stopped: {done} of 120 cells are saved in gradfeat.sqlite" in err


def test_what_an_interrupt_leaves_is_counted_in_the_store(capsys, folder, monkeypatch):
    """It came between a commit and the count of the bar, and one cell was not told."""

    def late(bar, count):
        if count.done:
            raise KeyboardInterrupt
        bar.count = count

    monkeypatch.setattr("gradfeat.cli.lab.run.CellBar.tell", late)
    ran = gradfeat(capsys, "run", grows(folder), "--no-figure")
    done = len(stored(folder))
    assert done > 0
    assert f"stopped: {done} of " in ran.err


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("gradfeat.cli.lab.run.loaded", "nothing was written"),
        ("gradfeat.cli.lab.run.drawn", "are saved"),
    ],
)
def test_ctrl_c_before_and_after_the_cells_is_one_sentence(
    capsys, folder, monkeypatch, where, said
):
    name = grows(folder)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    ran = gradfeat(capsys, "run", name)
    assert ran.code == 130
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_figure_that_fails_only_when_written_is_one_sentence(capsys, folder):
    late = "drawn = Figure(); drawn.savefig = lambda *a, **k: 1 / 0"
    ran = gradfeat(capsys, "run", grows(folder, GROWS.replace("drawn = Figure()", late)))
    assert ran.code == 2
    assert "the figure of 'grows' failed (ZeroDivisionError" in ran.err
    assert "Traceback" not in ran.err
    assert len(stored(folder)) == 6


def test_theory_of_a_figure_is_not_asked_about_failed_cells(capsys, folder):
    asks = GROWS.replace(
        "EXPERIMENT =",
        "def ask(n):\n    return {'value': 1 / (9 - n)}\n\nEXPERIMENT =",
    ).replace("seeds=2,", "seeds=2, theory=ask,")
    ran = gradfeat(capsys, "run", grows(folder, asks), "--scale", "paper")
    assert ran.code == 1
    assert "Figure: " in ran.out
    assert not ran.err.replace("\n", "").count("failed (")


def test_a_reason_is_told_without_the_module_of_its_exception(capsys, folder):
    module = "class Odd(Exception):\n    pass\n\ndef trial"
    text = GROWS.replace("def trial", module).replace("ArithmeticError", "Odd")
    ran = gradfeat(capsys, "run", grows(folder, text), "--set", "n=9", "--no-figure")
    assert ": Odd: no nine with [seed] 0" in ran.out
    assert "grows.Odd" not in ran.out


HELPED = GROWS.replace(
    "import pathlib, random", "import pathlib, random\nfrom help_growing import half"
)
HELPED = HELPED.replace('"value": n + ', '"value": half(n) + ')


@pytest.mark.parametrize(
    ("text", "other", "again"),
    [
        (GROWS, GROWS.replace('"value": n', '"value": n / 2'), True),
        (GROWS, GROWS.replace("n + noise", "n + RANGE * noise") + "\nRANGE = 3\n", True),
        (GROWS, GROWS.replace("def trial", "# a remark\ndef trial"), False),
        (GROWS, FAILS, False),  # a claim alone
        (GROWS, GROWS.replace('table["n"], ', ""), False),  # the figure alone
    ],
)
def test_an_edited_trial_is_run_anew_and_what_it_does_not_use_is_not(
    capsys, folder, text, other, again
):
    well(capsys, "run", grows(folder, text), "--no-figure")
    before = stored(folder)["value"].tolist()
    out = well(capsys, "run", grows(folder, other), "--no-figure")
    assert len(calls(folder)) == (12 if again else 6)
    assert ("6 cells were computed by another text of the trial of 'grows'" in out) == again
    after = stored(folder)["value"].tolist()
    assert len(after) == 6  # none of both texts
    assert (after != before) == again
    assert "another text" not in well(capsys, "show", "grows.py")


def test_a_file_beside_the_trial_counts_where_it_is_used(capsys, folder):
    (folder / "help_growing.py").write_text(
        "def half(n):\n    return part(n)\n\ndef part(n):\n    return n / 2\n\nother = print\n"
    )
    well(capsys, "run", grows(folder, HELPED), "--no-figure")
    for text, count in (("n / 2", 6), ("n / 4", 12)):
        (folder / "help_growing.py").write_text(
            f"def half(n):\n    return part(n)\n\ndef part(n):\n    return {text}\n"
        )
        well(capsys, "run", grows(folder, HELPED), "--no-figure")
        assert len(calls(folder)) == count


def test_runs_of_other_settings_have_figures_of_their_own(capsys, folder):
    name = grows(folder)
    for words in ([], ["--set", "n=4"], ["--set", "n=4,5", "--set", "noise=0.1"], ["--seeds", 3]):
        well(capsys, "run", name, *words)
    found = sorted(path.name for path in (folder / "figures").iterdir())
    assert found == [
        "grows-quick-3-seeds.png", "grows-quick-n-4-5-noise-0.1.png", "grows-quick-n-4.png",
        "grows-quick.png",
    ]  # fmt: skip
    many = ",".join(map(str, range(10, 60)))
    well(capsys, "run", name, "--set", f"n={many}", "--seeds", 1)
    well(capsys, "run", name, "--set", f"n={many},60", "--seeds", 1)
    assert len(list((folder / "figures").iterdir())) == 6


def test_a_claim_about_no_setting_is_refused_before_anything_is_computed(capsys, folder):
    (folder / "mine.py").write_text(
        "from gradfeat.lab import Experiment, above\n"
        "def trial(n: int, *, seed: int) -> dict[str, float]:\n"
        "    raise SystemError\n"
        "CHECKS = {'Large. [here]': above('a', 1.0, {'rows': 1})}\n"
        "EXPERIMENT = Experiment('mine', '?', trial, {'quick': {'n': 1}}, seeds=2, checks=CHECKS)\n"
    )
    for command in ("run", "verify"):
        told = refused(capsys, command, "mine.py")
        assert "claim 'Large.' of 'mine' cannot be checked: 'rows' is no setting" in told
        assert "0 of 2" not in told
