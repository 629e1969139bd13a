"""The repository keeps its own promises: README, versions, no machine paths."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import gradfeat

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

#: Spelled in two halves, so that this file does not contain what it looks for.
MACHINE_PATHS = ["/" + "work/", "/" + "tmp/", "/" + "root/", "/" + "home/"]
#: Where files of the repository are on the web: README's links are absolute, to be read anywhere.
OURS = r"^https://(?:raw.githubusercontent|github).com/gradfeat/gradfeat/(?:blob/)?main/"


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


def test_make_commands_are_targets():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(code_blocks("bash"))))
    mentioned = set(re.findall(r"`make ([a-z-]+)`", README))
    assert {"demo", "test"} <= commands
    assert commands | mentioned <= targets


def test_links_of_the_documents_lead_somewhere():
    made = {"_build", "generated", "project"}  # by `make docs`, which looks for what is not there
    pages = [page for page in (ROOT / "docs").rglob("*.md") if not made & {*page.parts}]
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        for absolute in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
            link = re.sub(OURS, "", absolute)
            local = not link.startswith(("http://", "https://")) and not made & {*link.split("/")}
            assert not local or (document.parent / link).exists(), f"{document.name}: {link}"


def test_citation_has_the_package_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, re.MULTILINE) == [gradfeat.__version__]
    assert f"[{gradfeat.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_tracked_file_names_a_path_of_one_machine():
    found = [
        f"{path.relative_to(ROOT)}: {place}"
        for path in tracked_files()
        for place in MACHINE_PATHS
        if re.search(rf"(?<![\w.~\-/]){place}".encode(), path.read_bytes())
    ]
    assert not found


def test_the_conda_recipe_asks_for_what_the_package_does():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    assert f'version: "{gradfeat.__version__}"' in recipe
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    other = {
        "pytorch": "torch",
        "python-safetensors": "safetensors",
        "matplotlib-base": "matplotlib",
    }
    named = {re.sub("^[a-z0-9-]+", lambda m: other.get(m[0], m[0]), one) for one in asked}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert named == {f"python{project['requires-python']}", *project["dependencies"]}
