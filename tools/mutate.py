"""Plant errors in a copy of the source, one at a time: each must fail a claim or a test.

    python tools/mutate.py                 # all; minutes each, an hour together
    python tools/mutate.py kappa label     # those whose words hold one of these

A survivor is an error that nothing notices; it is listed, and the exit status is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutations import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]


def main(words: list[str]) -> int:
    chosen = [m for m in MUTATIONS if not words or any(word in m.what for word in words)]
    survivors = [mutation.what for mutation in chosen if not caught(mutation)]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} planted errors were caught.")
    for what in survivors:
        print(f"survived: {what}")
    return int(bool(survivors))


def caught(mutation: Mutation) -> bool:
    """Whether one of the tests fails with the error, and not for want of a test."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        plant(mutation, source / "gradfeat" / mutation.file)
        code = tested(mutation.tests, source)
    if code not in (0, 1):
        raise SystemExit(f"pytest ended with {code} on {', '.join(mutation.tests)}")
    word = "caught" if code else "SURVIVED"
    print(f"{word:9} {time.monotonic() - start:5.0f} s  {mutation.what}", flush=True)
    return code == 1


def plant(mutation: Mutation, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.old) != 1:
        raise SystemExit(
            f"{mutation.file} has {text.count(mutation.old)} places of {mutation.old!r}, and one"
            f" is needed: mend the mutation {mutation.what!r}"
        )
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def tested(tests: tuple[str, ...], source: Path) -> int:
    """Exit status of the quick tests of these files on another source."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "SCIPY_ARRAY_API": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not slow", *tests], cwd=ROOT, env=environment, capture_output=True
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
