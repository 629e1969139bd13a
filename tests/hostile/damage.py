"""Models, stores and checkpoints whose checksums are right and whose contents are wrong."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from gradfeat.estimators.container import FORMAT_VERSION, Contents, _checksum, read

#: What takes the place of a value of JSON.
ODD_VALUES: tuple[Any, ...] = (
    None, True, [], {}, "", "x", -1, 0, 3, 10**9, 2**70, 1e308, -1e308, float("nan"), float("inf"),
    [[[]]], {"a": 1}, "\x00", ["x"], [1, 2, 3], "../../etc/passwd", "a" * 100_000,
)  # fmt: skip

#: Texts in the place of a whole JSON state.
ODD_TEXTS = ("", "null", "[]", "{}", "1", '"x"', "{", "[" * 100_000, '{"a":' * 5000, "NaN", "\x00")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all values within JSON."""
    match value:
        case dict():
            items = list(value.items())
        case list():
            items = list(enumerate(value))[:40]
        case _:
            items = []
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def hurt_json(draw: Random, state: Any) -> tuple[Any, str]:
    """A copy with one value replaced, taken out or exchanged with another; what was done."""
    state = copy.deepcopy(state)
    places = list(_places(state))
    path = draw.choice(places)
    holder, key = _holder(state, path)
    match draw.randrange(4):
        case 0:
            del holder[key]
            done = "taken out"
        case 1:
            other = draw.choice(places)
            theirs, name = _holder(state, other)
            holder[key] = copy.deepcopy(theirs[name])
            done = f"as {other}"
        case _:
            holder[key] = draw.choice(ODD_VALUES)
            done = f"set to {str(holder[key])[:30]!r}"
    return state, f"{path} {done}"


def _holder(state: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in path[:-1]:
        state = state[key]
    return state, path[-1]


#: What is done to arrays; of those of a checkpoint nobody can tell whether they are exchanged.
TOLD = ("gone", "nan", "dtype", "shape", "empty", "flip")
KINDS = (*TOLD, "inf", "one", "huge", "swap")


def hurt_arrays(
    draw: Random, arrays: dict[str, Any], kinds: tuple[str, ...] = KINDS
) -> tuple[dict[str, Any], str]:
    """A copy with one array damaged; what was done."""
    arrays = dict(arrays)
    name = draw.choice(sorted(arrays))
    a = arrays[name]
    kind = draw.choice(kinds)
    match kind:
        case "gone":
            del arrays[name]
        case "nan" | "inf" | "huge":
            hurt = a.astype(float)
            hurt.flat[: 1 + a.size // 2] = {"nan": np.nan, "inf": np.inf, "huge": 1e308}[kind]
            arrays[name] = hurt
        case "dtype":
            with np.errstate(all="ignore"):
                arrays[name] = a.astype(draw.choice(("i1", "f2", "f4", "?")))
        case "shape":
            arrays[name] = draw.choice(
                (a.reshape(-1), a.T, a[None], a[..., None], a.reshape(-1)[:1])
            )
        case "empty":
            arrays[name] = a[:0] if a.ndim else np.zeros(0)
        case "one":
            arrays[name] = np.float64(1.0).reshape(())
        case "swap":
            other = draw.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], a
        case "flip":
            arrays[name] = np.concatenate([a, a]) if a.ndim else a
    return arrays, f"array {name!r} {kind}"


def write_state(path: Path, kind: str, state: str, arrays: dict[str, Any]) -> None:
    """A model file with any text for its state, and the checksum of it."""
    arrays = {name: np.array(a, order="C") for name, a in arrays.items()}
    digest = _checksum(kind, state, arrays)
    words = {"format": "gradfeat", "format_version": str(FORMAT_VERSION), "kind": kind}
    path.write_bytes(to_bytes(arrays, metadata={**words, "state": state, "sha256": digest}))


def hurt_model(draw: Random, model: Path, others: list[Path], to: Path) -> str:
    """Write a damaged copy of a model; return what was done."""
    contents: Contents = read(model)
    kind, state, arrays = contents.kind, contents.state, dict(contents.arrays)
    match draw.randrange(8):
        case 0:
            text = draw.choice(ODD_TEXTS)
            write_state(to, kind, text, arrays)
            return f"{model.name}: state {text[:10]!r}"
        case 1:
            other = read(draw.choice(others))
            part = draw.choice(("encoder", "estimator"))
            start = f"{part}."
            kept = {k: a for k, a in arrays.items() if not k.startswith(start)}
            theirs = {k: a for k, a in other.arrays.items() if k.startswith(start)}
            parts = {**state["parts"], part: other.state["parts"][part]}
            state, arrays, done = {**state, "parts": parts}, kept | theirs, f"{part} of another"
        case 2 | 3 | 4:
            arrays, done = hurt_arrays(draw, arrays)
        case 5:
            kind, done = draw.choice(("", "RFMRegressor", "TableEncoder", "x")), "kind"
        case _:
            state, done = hurt_json(draw, state)
    write_state(to, kind, json.dumps(state), arrays)
    return f"{model.name}: {done}"


#: Values in the place of one of a store.
ODD_CELLS: tuple[Any, ...] = (
    None, "", "x", -1, 2**62, 1.5, b"", b"\x00\xff", "null", "[]", "{}", "[" * 50_000, '{"n": {}}',
    '{"n": null}', '{"n": 1e999}', '{"n": [1]}', "[-1]", "[1000000000000]", '["a"]', "|O", "<U9",
    "<M8[ns]", "V8", "(2,3)f8", "{", "'\x1b]0;t\x07'", "done", "failed",
)  # fmt: skip


def hurt_store(draw: Random, store: Path) -> str:
    """Change one value of a store; return what was done."""
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        filled = [
            t for t in tables
            if t != "sqlite_sequence" and db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
        ]  # fmt: skip
        table = draw.choice(filled)
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        name = draw.choice(names)
        match draw.randrange(12):
            case 0:
                db.execute(f"DELETE FROM {table}")
                done = "emptied"
            case 1:
                db.execute(f"DROP TABLE {table}")
                done = "gone"
            case 2:
                db.execute(f"ALTER TABLE {table} RENAME COLUMN {name} TO other")
                done = f"{name} renamed"
            case _:
                value = draw.choice(ODD_CELLS)
                key = "rowid" if table not in ("arrays", "leases") else "key"
                which = "" if draw.random() < 0.3 else (
                    f" WHERE {key} = (SELECT max({key}) FROM {table})"
                )  # fmt: skip
                done = f"{name} = {str(value)[:30]!r}{which and ' of one'}"
                try:
                    db.execute(f"UPDATE OR IGNORE {table} SET {name} = ?{which}", (value,))
                except sqlite3.Error as error:
                    done += f" ({error})"
        db.commit()
    return f"{table} {done}"


def hurt_checkpoint(draw: Random, folder: Path) -> str:
    """Damage one file of a checkpoint with right digests; return what was done."""
    manifests = sorted(folder.glob("pass-*/manifest.json"))
    path = draw.choice(manifests)
    body = json.loads(json.loads(path.read_text())["body"])
    states = sorted(path.parent.glob("*.safetensors"))
    if states and draw.random() < 0.6:
        file = draw.choice(states)
        arrays, done = hurt_arrays(draw, from_bytes(file.read_bytes()), TOLD)
        rewrite(file, arrays)
        return f"{file.name}: {done}"
    if draw.random() < 0.3:
        text = draw.choice(ODD_TEXTS)
        _manifest(path, text)
        return f"manifest {text[:10]!r}"
    body, done = hurt_json(draw, body)
    _manifest(path, json.dumps(body))
    return f"manifest {done}"


def rewrite(file: Path, arrays: dict[str, Any]) -> None:
    """Put arrays into a state of a checkpoint, with the digests that belong to them."""
    data = to_bytes({n: np.array(a, order="C") for n, a in arrays.items()})
    file.write_bytes(data)
    manifest = file.with_name("manifest.json")
    body = json.loads(json.loads(manifest.read_text())["body"])
    for entry in (*body["nodes"], body["total"] or {}):
        if entry and file.name == _file(entry):
            entry["digest"] = _digest(data)
    _manifest(manifest, json.dumps(body))


def _file(entry: dict[str, Any]) -> str:
    return (
        "total.safetensors"
        if entry["level"] < 0
        else f"{entry['level']}-{entry['index']}.safetensors"
    )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _manifest(path: Path, body: str) -> None:
    path.write_text(json.dumps({"digest": _digest(body.encode()), "body": body}))
