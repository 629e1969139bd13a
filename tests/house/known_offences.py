"""Those who broke a rule when it was written: one file a rule, a line for each."""

from __future__ import annotations

from pathlib import Path

KNOWN = Path(__file__).parent / "known"


def known(rule: str) -> list[str]:
    """Who may still break a rule, in order; nobody where there is no file."""
    path = KNOWN / f"{rule}.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def keep(rule: str, offences: list[str]) -> None:
    """Write those who are left; no file where nobody is."""
    path = KNOWN / f"{rule}.txt"
    if offences:
        KNOWN.mkdir(exist_ok=True)
        path.write_text("\n".join(sorted(offences)) + "\n", encoding="utf-8")
    else:
        path.unlink(missing_ok=True)
