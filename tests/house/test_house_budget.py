"""No room of the house grows unnoticed."""

from __future__ import annotations

import statistics
from collections import defaultdict

import pytest
from budget import LONGEST, MOST_FILES, ROOMS, TYPICAL, Room
from house_tree import Module, modules


def _rooms() -> dict[str, list[Module]]:
    found: dict[str, list[Module]] = defaultdict(list)
    for module in modules().values():
        folder, inside, _ = module.file.partition("/")
        found[folder if inside else ""].append(module)
    return found


def _size(files: list[Module]) -> Room:
    return Room(sum(one.lines for one in files), len(files))


def test_every_room_has_a_budget():
    assert sorted(_rooms()) == sorted(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_room(room: str):
    size, most = _size(_rooms()[room]), ROOMS[room]
    assert size.lines <= most.lines
    assert size.files <= most.files


def test_files_of_all_rooms():
    assert len(modules()) <= MOST_FILES


def test_no_file_is_too_long():
    assert [m.file for m in modules().values() if m.lines > LONGEST] == []


def test_half_of_the_files_are_short():
    sizes = [m.lines for m in modules().values() if not m.is_package]
    assert statistics.median(sizes) < TYPICAL
