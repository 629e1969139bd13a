"""Build wheel and sdist, check them, install the wheel in an empty environment, and run it.

    python tools/package.py [--tag v0.2.0] [--no-install]

The environment sees the packages of this one (PyTorch is not fetched again), but gradfeat comes
from the wheel, and runs in another folder.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """What a command prints; its own words and status where it fails."""
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def version() -> str:
    """The version that the source states."""
    text = (ROOT / "src" / "gradfeat" / "__init__.py").read_text("utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def build() -> tuple[Path, Path]:
    """Wheel and sdist, whose names and descriptions twine accepts, with what they must hold."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    held = set(zipfile.ZipFile(wheel).namelist())
    templates = (ROOT / "src" / "gradfeat" / "reports" / "templates").rglob("*.*")
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in templates}
    wanted |= {"gradfeat/py.typed", "gradfeat/__main__.py"}
    if missing := wanted - held:
        sys.exit(f"the wheel lacks {sorted(missing)}")
    if tests := [name for name in held if not name.startswith("gradfeat")]:
        sys.exit(f"the wheel holds {tests[:3]}")
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    if missing := {"LICENSE", "README.md", "CITATION.cff", "tests/test_project.py"} - files:
        sys.exit(f"the sdist lacks {sorted(missing)}")
    return wheel, sdist


def try_wheel(wheel: Path) -> None:
    """Install it where no other gradfeat is, and fit, show and predict from another folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=False, system_site_packages=False)
        windows = sys.platform == "win32"
        python = folder / "env" / ("Scripts/python.exe" if windows else "bin/python")
        site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
        run(*pip, wheel)
        ours = [path for path in map(Path, sys.path) if path.name == "site-packages"]
        # After the wheel's own folder, so that its gradfeat is the one that is found.
        (Path(site) / "others.pth").write_text("".join(f"{path}\n" for path in ours))
        shutil.copy(ROOT / "examples" / "data" / "bikeshare.csv", folder)
        where = run(python, "-c", "import gradfeat; print(gradfeat.__file__)", folder=folder)
        if not where.startswith(str(folder)):
            sys.exit(f"gradfeat comes from {where.strip()}, not from the wheel")
        gradfeat = (python, "-m", "gradfeat")
        table = ("bikeshare.csv", "--target", "log_bikers", "--methods", "linear", "--time", "20")
        run(*gradfeat, "fit", *table, "--out", "out", folder=folder)
        run(*gradfeat, "show", "out", folder=folder)
        run(*gradfeat, "predict", "out", "bikeshare.csv", "--out", "p.csv", folder=folder)
        print(f"{wheel.name} installs, fits, shows and predicts from another folder")


def main() -> None:
    """Build, check, and try."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the release's tag, which must be v and the version")
    parser.add_argument("--no-install", action="store_true", help="build and check alone")
    asked = parser.parse_args()
    if asked.tag and asked.tag != f"v{version()}":
        sys.exit(f"the tag is {asked.tag} and the version {version()}: they must agree")
    wheel, sdist = build()
    print(f"{wheel.name} and {sdist.name} are built, and twine has no complaint")
    if not asked.no_install:
        try_wheel(wheel)


if __name__ == "__main__":
    main()
