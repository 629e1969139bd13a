"""The type checker of the import hook: an int is accepted where a float is asked for."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
