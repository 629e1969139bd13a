"""Take out of `known/` who breaks a rule no more, and follow what moved to other files.

    python tests/house/tighten.py

Never adds and never raises a count: a new offence is put right instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from known_offences import keep, known
from rules import RULES


def _who(line: str) -> tuple[str, int]:
    """Who offends, without the file where a function or word is named, and how often."""
    who, _, count = line.rpartition(" ")
    who, times = (who, int(count)) if who and count.isdigit() else (line, 1)
    file, _, inside = who.partition(":")
    return inside or file.rpartition("/")[2], times


def _counts(lines: Iterable[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for who, times in map(_who, lines):
        found[who] += times
    return found


def main() -> None:
    """Keep the offences of today that are not more than those that are known."""
    for rule, offences in RULES.items():
        today, before = list(offences()), known(rule)
        now, most = _counts(today), _counts(before)
        more = {who for who, times in now.items() if times > most[who]}
        kept = [line for line in today if _who(line)[0] not in more]
        keep(rule, kept + [line for line in before if _who(line)[0] in more])


if __name__ == "__main__":
    main()
