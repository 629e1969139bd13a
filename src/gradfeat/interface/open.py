"""What users give as a table, a data frame or where files are, and how its rows are read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gradfeat.errors import SourceError, TableError
from gradfeat.maths.limits import Deadline, available_memory, readable
from gradfeat.maths.ranges import within
from gradfeat.rows.checkpoint import Checkpoint
from gradfeat.rows.dask_client import local_cluster
from gradfeat.rows.engine import Engine, Report
from gradfeat.rows.in_process import Threads
from gradfeat.rows.on_workers import DaskEngine, Pool
from gradfeat.rows.source import PIECE_ROWS
from gradfeat.rows.sources.files import PACKED_ENDINGS
from gradfeat.rows.sources.open import ARROW_ENDINGS, EXCEL_ENDINGS, PARQUET_ENDINGS, tables
from gradfeat.rows.sources.tables import FrameTables, Tables, held
from gradfeat.rows.sources.text_options import TextOptions, text_options
from gradfeat.table.methods import JOBS, SECONDS, SEEDS, WIDTH, WIDTHS
from gradfeat.table.read import as_frame
from gradfeat.table.request import Request, Steps
from gradfeat.table.results import Remark
from gradfeat.wording import as_names, counted, layout_sentence, listing

#: Values of a table that are read at once, by each thread or process.
PIECE_NUMBERS = 2**22

#: What a call that is repeated has in other words, or anew.
_NOT_REPEATED = {"table", "target", "progress", "deadline", "checkpoint"}

#: What is said of how the table is written.
_TEXT = ("separator", "comment", "header", "encoding", "sheet")

#: Columns by which rows are held out.
_COLUMNS = ("time_column", "group_column")

#: What is checked elsewhere, as names of columns may be of any type.
_ANY = {"target", *_COLUMNS, "device"}

#: What a request has as tuples.
_LISTS = {"methods", "ignore", "missing", "category"}

#: What a parameter of a type takes, and how that is called.
_TAKES: dict[Any, tuple[Any, str]] = {
    bool: ((bool, np.bool_), "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
    os.PathLike: (os.PathLike, "a path"),
    Callable: (Callable, "a function"),
    Deadline: (Deadline, "a Deadline"),
    NoneType: (NoneType, "None"),
}


@dataclass(frozen=True)
class RunOptions:
    """Whether rows stream, and what computes then.

    Left out, `stream` is decided by the size of the table. Of `jobs` processes, or at `dask` (the
    address of a scheduler, or ``local``), rows stream in any case. Finished passes are kept at
    `checkpoint`.
    """

    stream: bool | None = None
    jobs: int | None = None
    dask: str | None = None
    checkpoint: Checkpoint | None = None

    def why_streamed(self, path: str | None) -> str:
        """Why the rows of a file, or of a frame, stream: in words; empty where they are held."""
        if self.jobs is not None and self.dask not in (None, "local"):
            raise TableError(
                f"--jobs counts processes of this machine, and Dask at {self.dask} has its own: "
                "leave one of them out."
            )
        spread = self.dask is not None or (self.jobs or 1) > 1
        if spread and self.stream is False:
            raise TableError(
                "--jobs and --dask spread rows that stream, and --no-stream asks for none: "
                "leave one of them out."
            )
        asked = True if spread else self.stream
        if path is None:
            return "as asked" if asked else ""
        return why_streamed(path, asked)

    @contextmanager
    def engine(self, report: Report) -> Iterator[tuple[Engine, str]]:
        """What computes passes, and what it is in words."""
        kept = self.checkpoint
        match self:
            case RunOptions(dask="local"):
                jobs = self.jobs or Threads().n
                with local_cluster(jobs) as client:
                    engine = DaskEngine(cluster=client, report=report, checkpoint=kept)
                    yield engine, f"a Dask cluster of {counted(jobs, 'process')} on this machine"
            case RunOptions(dask=str(address)):
                engine = DaskEngine(cluster=address, report=report, checkpoint=kept)
                yield engine, f"Dask at {address}"
            case RunOptions(jobs=int(jobs)):
                with Pool(jobs=jobs, report=report, checkpoint=kept) as pool:
                    yield pool, counted(jobs, "process")
            case _:
                threads = Threads(report=report, checkpoint=kept)
                yield threads, counted(threads.n, "thread")


@dataclass(frozen=True, eq=False)
class UserTable:
    """A table as it was given: where it is, or its rows; its name is that of the file or type."""

    name: str
    path: str | None = None
    frame: pd.DataFrame | None = None

    def open(self, run: RunOptions, text: TextOptions) -> tuple[Tables, str]:
        """The rows, and why they stream, in words; empty where they are held."""
        why = run.why_streamed(self.path)
        if self.frame is None:
            return opened(self.path or "", text, streamed=bool(why)), why
        rows = PIECE_ROWS if why else max(1, len(self.frame))
        index = [name for name in self.frame.index.names if name is not None]
        said = f"without the index {listing(index)}, which reset_index() makes a column"
        return FrameTables(self.frame, rows, said=(said,) if index else ()), why

    def in_words(self, table: Tables, target: str, why: str) -> str:
        """``t.csv: 240 rows, 7 columns; target y``."""
        rows = "rows not counted yet" if table.rows is None else counted(table.rows, "row")
        pieces = "" if table.count is None else f" in {counted(table.count, 'piece')}"
        how = f"streamed{pieces}: {why}" if why else f"target {target}"
        layout = f". {layout_sentence(table.remarks)}" if table.remarks else ""
        return f"{self.name}: {rows}, {counted(len(table.names), 'column')}; {how}{layout}"

    def call(self, function: Callable[..., Any], options: Mapping[str, Any]) -> str:
        """How Python has the same again: the call, with the options that are not the defaults.

        >>> def fit(table, target, time=60.0): ...
        >>> UserTable("t.csv", path="t.csv").call(fit, {"target": "y", "time": 3})
        "gradfeat.fit('t.csv', 'y', time=3)"
        """
        usual = {n: p.default for n, p in signature(function).parameters.items() if n in options}
        usual = {n: default for n, default in usual.items() if n not in _NOT_REPEATED}
        changed = [f"{n}={options[n]!r}" for n, default in usual.items() if options[n] != default]
        words = [repr(self.path) if self.path else "table", repr(options["target"]), *changed]
        return f"gradfeat.{function.__name__}({', '.join(words)})"


@dataclass(frozen=True, eq=False)
class Asked:
    """A call of `compare` or `diagnose`: what it asks for, of which table, by which means.

    `function` is the one of the two that Python called; None where a command did, which says so.
    """

    table: UserTable
    request: Request
    run: RunOptions
    steps: Steps
    function: Callable[..., Any] | None

    @classmethod
    def of(cls, function: Callable[..., Any], given_: Mapping[str, Any]) -> Asked:
        """Of its arguments by name; those of the request are called as there."""
        refuse_types(function, {n: v for n, v in given_.items() if n not in _ANY})
        table, time, kept = given(given_["table"]), given_["time"], given_["checkpoint"]
        names = {f.name for f in fields(Request)} - {n for n in _LISTS if given_.get(n) is None}
        asked: dict[str, Any] = {n: given_[n] for n in names & given_.keys()}
        asked |= {n: as_names(asked[n]) for n in _LISTS & asked.keys()}
        _refuse(asked, given_)
        asked |= {n: None if given_[n] is None else str(given_[n]) for n in _COLUMNS}
        asked["command"] = asked["command"] or table.call(function, given_)
        asked["target"] = str(asked["target"])
        kept = None if kept is None else Checkpoint(Path(kept))
        text = text_options(*(given_[n] for n in _TEXT))
        return cls(
            table,
            Request(table.name, seconds=time, text=text, **asked),
            RunOptions(given_["stream"], given_["jobs"], given_["dask"], kept),
            Steps(given_["progress"], given_["deadline"] or Deadline.after(time)),
            None if given_["command"] else function,
        )

    @contextmanager
    def reading(self) -> Iterator[tuple[Tables, Engine | None, str]]:
        """The rows, what computes passes where they stream, and what that is in words.

        What goes wrong, in here or with the rows, is told in words of Python, where Python asked.
        """
        self.steps.begin("Reading", 0.0)
        try:
            rows, why = self.table.open(self.run, self.request.wanted)
            words = self.table.in_words(rows, self.request.target, why)
            self.steps.begin("Reading", 0.0, words)
            engine = self.run.engine(self.steps) if why else nullcontext((None, ""))
            with engine as (computing, computes):
                yield rows, computing, computes
        except (TableError, SourceError) as error:
            if self.function is None:
                raise
            raise type(error)(in_python(str(error), self.function)) from error

    def told(self, remarks: Iterable[Remark]) -> tuple[Remark, ...]:
        """Remarks on the data, in words of Python where Python asked."""
        if self.function is None:
            return tuple(remarks)
        return tuple(replace(one, text=in_python(one.text, self.function)) for one in remarks)

    def kept(self, engine: Engine | None) -> Checkpoint | None:
        """Where finished passes are, of rows that stream."""
        return None if engine is None else self.run.checkpoint


def in_python(sentence: str, function: Callable[..., Any]) -> str:
    """A sentence with parameters of `function` in the place of options of the command line.

    >>> def fit(*, task: Literal["regression"], header: bool | None, ignore: list[str]): ...
    >>> in_python("use --task regression, --no-header or leave --ignore 'a' and --x out", fit)
    "use task='regression', header=False or leave ignore='a' and --x out"
    """
    hints = get_type_hints(function)

    def words(found: re.Match[str]) -> str:
        no, option, value = found.groups(default="")
        name = option.replace("-", "_")
        if name not in hints:
            return found[0]
        if bool in {hints[name], *get_args(hints[name])}:
            return f"{name}={not no}{value and f' {value}'}"
        choice = value in get_args(hints[name])
        if not choice and value[:1] != "'":
            return f"{name}={value and f' {value}'}"
        return f"{name}={value!r}" if choice else f"{name}={value}"

    return re.sub(r"--(no-)?([a-z][a-z-]*[a-z])(?: ('[^']*'|[a-z-]+))?", words, sentence)


def refuse_types(function: Callable[..., Any], given_: Mapping[str, Any]) -> None:
    """Refuse values of another type than that of their parameter.

    >>> def fit(*, time: float = 60.0, jobs: int | None = None): ...
    >>> refuse_types(fit, {"time": 5, "jobs": "2"})
    Traceback (most recent call last):
    gradfeat.errors.TableError: jobs is '2': give a whole number or None.
    """
    for name, hint in get_type_hints(function).items():
        one_of = get_origin(hint) in {Literal, Union, UnionType}
        kinds = [get_origin(kind) or kind for kind in (get_args(hint) if one_of else [hint])]
        if get_origin(hint) is Literal:
            fits, words = given_.get(name, kinds[0]) in kinds, [repr(kind) for kind in kinds]
        elif name not in given_ or not all(kind in _TAKES for kind in kinds):
            continue
        else:
            fits = any(isinstance(given_[name], _TAKES[kind][0]) for kind in kinds)
            words = [_TAKES[kind][1] for kind in kinds]
        if not fits:
            raise TableError(f"{name} is {given_[name]!r}: give {' or '.join(words)}.")


def _refuse(asked: Mapping[str, Any], given_: Mapping[str, Any]) -> None:
    """Numbers that an option cannot be."""
    within(*SECONDS, time=given_["time"])
    within(*SEEDS, seed=asked["seed"])
    within(*WIDTHS, width=asked.get("width", WIDTH))
    within(*JOBS, jobs=1 if given_["jobs"] is None else given_["jobs"])


def given(data: Any) -> UserTable:
    """What users give as a table.

    >>> import pyarrow as pa
    >>> given(pa.table({"x": [1, 2]})).frame["x"].tolist(), given("rows/t.csv").name
    ([1, 2], 't.csv')
    """
    match data:
        case str() | os.PathLike():
            return UserTable(Path(data).name, path=os.fspath(data))
        case _:
            return UserTable(type(data).__name__, frame=as_frame(data))


def opened(path: str, text: TextOptions, *, streamed: bool) -> Tables:
    """The table of a file, folder, pattern of names or URL; fewer rows a chunk where they are wide.

    Rows that do not stream are read here, and are one chunk.
    """
    table = tables(path, text=text)
    if not streamed:
        frame = held(table)
        return FrameTables(frame, len(frame), read_from=table)
    at_once = max(1024, PIECE_NUMBERS // len(table.names))
    return tables(path, piece_rows=at_once, text=text) if at_once < PIECE_ROWS else table


#: Rows beyond which a table streams, and the share of the free memory that it may take.
MOST_ROWS, MOST_SHARE = 1_000_000, 0.25

#: Bytes in memory for each byte of text, and of packed text.
TEXT, PACKED = 2, 10


def why_streamed(path: str, asked: bool | None = None) -> str:
    """Why the rows stream, in words; empty where the table is held in memory.

    >>> why_streamed("s3://store/rows/"), why_streamed("a.csv", asked=False)
    ('it is a URL', '')
    """
    if asked is False:
        return ""
    return "as asked" if asked else _many(path) or _large(path)


def _many(path: str) -> str:
    if "://" in path:
        return "it is a URL"
    if Path(path).is_dir():
        return "it is a folder"
    return "it is a pattern of names" if glob.has_magic(path) and not Path(path).exists() else ""


def _large(path: str) -> str:
    file = Path(path)
    if not file.is_file():
        return ""
    rows, size = _rows_and_bytes(file)
    if rows > MOST_ROWS:
        return f"it has more than {MOST_ROWS:,} rows"
    if size > MOST_SHARE * available_memory():
        return f"it takes about {readable(size)} in memory, more than a quarter of what is free"
    return ""


def _rows_and_bytes(file: Path) -> tuple[int, int]:
    """Rows, as far as they are known, and about the bytes that they take in memory."""
    ending = file.suffix.lower()
    if ending in (*ARROW_ENDINGS, *EXCEL_ENDINGS):
        return 0, PACKED * file.stat().st_size
    return _parquet(file) if ending in PARQUET_ENDINGS else _text(file)


def _parquet(file: Path) -> tuple[int, int]:
    """Rows, and bytes once decoded; none of a file that cannot be read, which is refused later."""
    try:
        about = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return 0, 0
    sizes = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return about.num_rows, sum(sizes)


def _text(file: Path) -> tuple[int, int]:
    size = file.stat().st_size
    if file.suffix.lower() in PACKED_ENDINGS:
        return 0, PACKED * size
    rows = 0
    for lines in _lines(file) if size > MOST_ROWS else ():
        rows += lines
        if rows > MOST_ROWS:
            break
    return rows, TEXT * size


def _lines(file: Path) -> Iterator[int]:
    """Ends of lines, some megabytes at a time."""
    with file.open("rb") as handle:
        while data := handle.read(2**22):
            yield data.count(b"\n")
