"""The rules of the house, held: nobody new may break one."""

from __future__ import annotations

import pytest
from known_offences import known
from rules import RULES


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str):
    now, before = sorted(RULES[rule]()), known(rule)
    new = [one for one in now if one not in before]
    assert not new, f"{RULES[rule].__doc__}\n" + "\n".join(new)
    cured = [one for one in before if one not in now]
    assert not cured, "cured, run `python tests/house/tighten.py`:\n" + "\n".join(cured)
