"""Files that are no tables of text: what they are, and how to have them read."""

# Apart: a list of formats, which says nothing of how text is read.

from __future__ import annotations

import re

from ..errors import SourceError

#: What pandas reads, by the first bytes: what the file is, and the function that reads it.
_BY_PANDAS = {
    rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\x00": ("a Stata file", "read_stata"),
    rb"ORC": ("an ORC file", "read_orc"),
    rb"\x80[\x02-\x05]": ("a pickle", "read_pickle"),
    rb"\$FL[23]": ("an SPSS file", "read_spss"),
    rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}LIB": ("a SAS file", "read_sas"),
    rb"\x89HDF": ("an HDF5 file", "read_hdf"),
    rb"\s*(?:<!doctype html|<html|<table|<div|<head|<body)": ("an HTML page", "read_html"),
    rb"\s*(?:<\?xml|<[a-z]+ xmlns)": ("an XML file", "read_xml"),
    rb"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "read_excel"),
}

_OTHERS = {
    rb"\x89PNG": "a PNG image",
    rb"\xff\xd8\xff": "a JPEG image",
    rb"%PDF": "a PDF",
    rb"PK\x03\x04": "a zip archive",
    rb"PAR1": "a packed Parquet file",
    rb"SQLite format 3": "an SQLite database",
    rb"RD[ABX]\d?\n|X\n\x00\x00\x00": "a file of R's objects",
    rb"MATLAB 5": "a MATLAB file",
    rb"\s*<svg": "a picture",
    rb"(?s:.{257}ustar)": "a tar archive",
}


def refuse_others(name: str, data: bytes) -> None:
    """Refuse a file whose first bytes are no text."""
    for start, (what, reader) in _BY_PANDAS.items():
        if re.match(start, data, re.IGNORECASE):
            which = "[0]" if reader == "read_html" else ""
            raise SourceError(
                f"'{name}' is {what}, which is not read here: write its table as Parquet or CSV "
                f"first, as pandas.{reader}(...){which}.to_csv('table.csv', index=False) does."
            )
    found = (what for start, what in _OTHERS.items() if re.match(start, data))
    what = next(found, "binary data" if _is_binary(data) else "")
    if what:
        raise SourceError(
            f"'{name}' is not a table but {what}: give CSV, TSV or other delimited text, JSON "
            "(these also as .gz, .bz2, .xz or .zip), Parquet, Feather or Arrow (.feather, .arrow), "
            "or Excel (.xlsx)."
        )


def _is_binary(data: bytes) -> bool:
    """Whether control characters, which text does not use, are present."""
    control = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1a\x1b")) + b"\x7f"
    sample = data[:65536]
    found = len(sample) - len(sample.translate(None, control))
    return b"\0" in data or found > len(sample) // 100
