"""Training and test rows of a table as one matrix of numbers, the same for every method."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from problem import Problem
from sklearn.model_selection import train_test_split
from table_list import TABLES, Table

from gradfeat.table.encode import TableEncoder

TEST_ROWS = 4000
TEST_SHARE = 0.25


def sizes(rows: int, cap: int) -> tuple[int, int]:
    """Training and test rows: a quarter for the test, each at most its cap."""
    test = min(TEST_ROWS, int(rows * TEST_SHARE))
    return min(cap, rows - test), test


def problem(table: Table, split: int, cap: int) -> Problem:
    """Split number `split`: the encoder is fitted on the training rows alone."""
    frame = table.read().reset_index(drop=True)
    classes = table.task == "classification"
    target = frame.pop("target")
    y = pd.factorize(target, sort=True)[0] if classes else target.to_numpy(float)
    n, n_test = sizes(len(frame), table.train_rows or cap)
    train, test = train_test_split(
        np.arange(len(frame)),
        train_size=n,
        test_size=n_test,
        random_state=1000 + split,
        stratify=y if classes else None,
    )
    encoder = TableEncoder().fit(frame.iloc[train])
    X, X_test = (encoder.transform(frame.iloc[rows]) for rows in (train, test))
    return Problem(X, y[train], X_test, y[test], classes)


def main() -> None:
    """`python splits.py TABLE SPLIT CAP FILE.npz` writes one split."""
    name, split, cap, path = sys.argv[1:]
    table = next(table for table in TABLES if table.name == name)
    problem(table, int(split), int(cap)).save(Path(path))


if __name__ == "__main__":
    main()
