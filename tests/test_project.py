"""The repository keeps its own promises: README, versions, file sizes, no machine paths."""

from __future__ import annotations

import contextlib
import io
import re
import statistics
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gradfeat

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SIZES = {
    path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
    for path in sorted((ROOT / "src").rglob("*.py"))
    if path.name != "__init__.py"
}

#: Spelled in two halves, so that this file does not contain what it looks for.
MACHINE_PATHS = ["/" + "work/", "/" + "tmp/", "/" + "root/", "/" + "home/"]


def code_blocks(language: str) -> list[str]:
    """Fenced blocks of one language in the README."""
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def tracked_files() -> list[Path]:
    """Files that git tracks; skips where this is not a checkout."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in files if path.is_file()]


def test_python_example_runs_and_prints_a_score():
    example, *_ = code_blocks("python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    score, importances = printed.getvalue().split(maxsplit=1)
    assert 0 < float(score) < 1
    assert "'bmi'" in importances


def test_python_example_of_a_comparison_runs(tmp_path, monkeypatch):
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gradfeat.interface.compare.render", lambda _: "<p>page</p>")
    a, b = np.random.default_rng(0).standard_normal((2, 100))
    names = {"frame": pd.DataFrame({"a": a, "b": b, "price": a + b}), "ax": plt.figure().gca()}
    _, example, _ = code_blocks("python")
    exec(example.replace("time=60", 'time=60, methods=["linear"]'), names)
    assert (tmp_path / "report.html").read_text() == "<p>page</p>"
    plt.close("all")


def test_python_example_of_a_folder_runs(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    (tmp_path / "parts").mkdir()
    for part in range(3):
        X = rng.standard_normal((300, 4))
        frame = pd.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0] ** 2)
        frame.to_parquet(tmp_path / "parts" / f"{part}.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    *_, example = code_blocks("python")
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["model"].importances_.argmax() == 0


def test_make_commands_are_targets():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(code_blocks("bash"))))
    mentioned = set(re.findall(r"`make ([a-z-]+)`", README))
    assert {"demo", "test"} <= commands
    assert commands | mentioned <= targets


def test_demo_is_the_command_that_the_readme_shows():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (shown,) = re.findall(
        r"^gradfeat (fit .* --out demo .*)$", "\n".join(code_blocks("bash")), re.MULTILINE
    )
    assert shown in makefile


def test_links_of_the_documents_lead_somewhere():
    made = {"_build", "generated", "project"}  # by `make docs`, which looks for what is not there
    pages = [page for page in (ROOT / "docs").rglob("*.md") if not made & {*page.parts}]
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        for link in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
            local = not link.startswith(("http://", "https://")) and not made & {*link.split("/")}
            assert not local or (document.parent / link).exists(), f"{document.name}: {link}"


def test_citation_has_the_package_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, re.MULTILINE) == [gradfeat.__version__]
    assert f"[{gradfeat.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_file_is_long():
    assert not {name: lines for name, lines in SIZES.items() if lines > 400}


def test_half_of_the_files_are_short():
    assert statistics.median(SIZES.values()) < 150


def test_no_tracked_file_names_a_path_of_one_machine():
    found = [
        f"{path.relative_to(ROOT)}: {place}"
        for path in tracked_files()
        for place in MACHINE_PATHS
        if re.search(rf"(?<![\w.~\-/]){place}".encode(), path.read_bytes())
    ]
    assert not found
