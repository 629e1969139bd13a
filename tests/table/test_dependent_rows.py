"""Rows that tell of each other, in time or by subject, are said to be before a verdict."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import gradfeat
from gradfeat.errors import TableError
from gradfeat.rows.in_process import InProcess
from gradfeat.rows.sources.tables import FrameTables
from gradfeat.table.prepared import prepare
from gradfeat.table.request import Request


def said(frame: pd.DataFrame, streamed: bool = False, **asked: str) -> str:
    engine = InProcess() if streamed else None
    found = prepare(FrameTables(frame, 200), Request("t", "y", **asked), engine)
    return " ".join(found.remarks)


def series(n: int = 600) -> pd.DataFrame:
    """A random walk and a column of noise, by day."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d")
    x, y = rng.normal(size=n), np.cumsum(rng.normal(size=n))
    return pd.DataFrame({"date": days, "x": x, "y": y})


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_a_target_that_varies_slowly_in_time_is_said_to(classes, streamed):
    frame = series()
    if classes:
        frame["y"] = np.where(frame["y"] > frame["y"].median(), "up", "down")
    told = said(frame, streamed)
    assert re.search(r"In the order of 'date' neighbouring rows have similar 'y' \(corr", told)
    assert "--time-column 'date' tests on the last." in told
    shuffled = np.random.default_rng(1).permutation(frame["y"])
    assert "In the order of" not in said(frame.assign(y=shuffled), streamed)


def test_nothing_is_said_where_rows_are_tested_on_in_order():
    assert "In the order of" not in said(series(), time_column="date")


def test_seasons_alone_say_nothing_of_neighbours():
    """Weekdays and months are columns of the model that later rows have too."""
    frame = series(1_200)
    day = pd.to_datetime(frame["date"])
    season = 3.0 * (day.dt.day_of_week < 5) + np.cos(2 * np.pi * (day.dt.month - 1) / 12)
    assert "In the order of" not in said(
        frame.assign(y=season + 0.5 * frame["x"].iloc[::-1].to_numpy())
    )


def test_a_date_in_several_columns_orders_rows_too():
    frame = series()
    day = pd.to_datetime(frame["date"])
    parts = frame.assign(year=day.dt.year, month=day.dt.month, date_of_month=day.dt.day)
    told = said(parts.drop(columns="date"))
    assert "In the order of 'year', 'month' and 'date_of_month' neighbouring rows" in told
    assert "A column of whole dates as --time-column tests on the last." in told


def patients(label: object) -> pd.DataFrame:
    """80 patients of 10 rows; all columns are nearly constant within a patient, the target too."""
    rng = np.random.default_rng(0)
    who, noise = np.repeat(np.arange(80), 10), rng.normal(size=(800, 5))
    M = rng.normal(size=(80, 5))[who] + 0.1 * noise
    frame = pd.DataFrame(M[:, :4], columns=[*"abcd"])
    return frame.assign(patient=np.array(label)[who], y=M[:, 4])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("names", [np.arange(80), [f"P{k:03d}" for k in range(80)]])
def test_subjects_that_come_again_are_groups_and_no_leak(names, streamed):
    told = said(patients(names), streamed)
    assert re.search(
        r"Rows come in 80 groups by 'patient' \(9\d % of the variance of 'y' lies", told
    )
    assert "--group-column 'patient' tests on groups that were not learned from." in told
    assert "if it is known only once" not in told


def test_levels_whose_rows_differ_are_no_subjects():
    """Places explain much, and other columns vary within them; ages are quantities."""
    frame = patients([f"P{k:03d}" for k in range(80)])
    frame[[*"abc"]] = np.random.default_rng(1).normal(size=(800, 3))
    assert "Rows come in" not in said(frame.rename(columns={"patient": "place"}))
    aged = patients(np.arange(80)).rename(columns={"patient": "age"})
    assert "Rows come in" not in said(aged)
    noise = np.random.default_rng(1).normal(size=800)
    assert "Rows come in" not in said(patients(np.arange(80)).assign(y=noise))


def test_numbers_that_have_no_squares_order_rows_without_a_warning():
    frame = series(300)
    said(frame.assign(far=10.0 ** (np.arange(300) % 150), y=np.arange(300)))


def test_scores_of_new_groups_are_not_those_of_rows_that_the_model_knows_the_group_of():
    """Nothing of a patient tells of another: all that a random split learns are the patients."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), 10)
    frame = pd.DataFrame({"patient": who, "x": rng.normal(size=60)[who]})
    frame["y"] = rng.normal(size=60)[who] + 0.1 * rng.normal(size=600)
    asked = {"methods": ["boosting"], "time": 1.0}
    mixed = gradfeat.compare(frame, "y", **asked)
    apart = gradfeat.compare(frame, "y", group_column="patient", **asked)
    assert "Rows come in" in " ".join(remark.text for remark in mixed.results.remarks)
    assert mixed.table["R2"].iloc[0] > 0.8
    assert apart.table["R2"].iloc[0] < 0.3
    assert "whole groups" in apart.results.split
    assert [column.name for column in apart.results.columns] == ["x"]
    also = gradfeat.compare(frame, "y", group_column="patient", ignore="patient", **asked)
    assert also.results.split == apart.results.split


def test_rows_are_held_out_by_one_column_of_a_table_in_memory():
    with pytest.raises(TableError, match="or by --group-column: give one"):
        said(patients(range(80)), time_column="a", group_column="patient")
    with pytest.raises(TableError, match="--group-column holds out rows of a table in memory"):
        said(patients(range(80)), streamed=True, group_column="patient")


def test_copies_and_subjects_are_seen_behind_identifiers_that_are_left_out():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=200)
    order = rng.permutation(400)
    twice = pd.DataFrame({"x": x[order % 200], "z": x[order % 200] ** 2, "y": y[order % 200]})
    told = said(twice.assign(id=[f"R{k:04d}" for k in rng.permutation(400)]))
    assert re.search(r"\d\d % of the rows are copies of others in every column but 'id'", told)
    assert "copies of others" not in said(
        twice.assign(x=rng.normal(size=400), id=[f"R{k:04d}" for k in range(400)])
    )
    who = np.repeat(np.arange(60), 5)
    visits = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=60)[who]})
    visits["sample"] = [f"P{k}_{j}" for k in range(60) for j in range(5)]
    told = said(visits)
    assert re.search(r"'sample' begins alike in groups of rows \(as 'P(\d+)_\d' and 'P\1_", told)
    assert "begins alike" not in said(visits.assign(y=rng.normal(size=300)))
