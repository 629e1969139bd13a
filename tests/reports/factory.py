"""Made-up but realistic reports: every variant that the page and the figures must show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradfeat.table.results import (
    Bars,
    ColumnLoss,
    ColumnNote,
    Directions,
    Family,
    FirstStep,
    FitReport,
    Importances,
    Interval,
    MethodResult,
    PassTime,
    Remark,
    Streaming,
    Verdict,
)

BIKES = {
    "hr": ("number", 24, "hour of day; scaled to mean 0, sd 1"),
    "temp": ("number", 50, "scaled to mean 0, sd 1"),
    "atemp": ("number", 65, "scaled to mean 0, sd 1"),
    "workingday": ("yes/no", 2, "0 or 1"),
    "hum": ("number", 89, "scaled to mean 0, sd 1"),
    "weathersit": ("category", 4, "one column a level; rare levels joined"),
    "mnth": ("category", 12, "one column a level"),
    "windspeed": ("number", 30, "scaled to mean 0, sd 1"),
    "season": ("number", 4, "scaled to mean 0, sd 1"),
    "holiday": ("yes/no", 2, "0 or 1"),
    "weekday": ("number", 7, "scaled to mean 0, sd 1"),
    "day": ("number", 365, "scaled to mean 0, sd 1"),
    "station_code": ("dropped", 1, "left out: a single value"),
}

METHODS: tuple[tuple[str, str, Family, float, float, int], ...] = (
    ("linear", "Linear (ridge)", "fixed", 0.48, 0.03, 6_800),
    ("random-features", "Random features", "fixed", 0.58, 1.2, 6_800),
    ("kernel", "Kernel ridge (Laplace)", "fixed", 0.62, 2.9, 1_500),
    ("induced-network", "Induced network", "learned", 0.57, 1.4, 6_800),
    ("gradient-features", "Gradient features (two-layer net)", "learned", 0.81, 3.4, 6_800),
    ("rfm", "Recursive feature machine", "learned", 0.931, 11.8, 1_500),
    ("boosting", "Gradient-boosted trees", "reference", 0.944, 0.9, 6_800),
)


def interval(value: float, half: float) -> Interval:
    return Interval(value, value - half, value + 0.9 * half)


def column_notes(names: dict[str, tuple[str, int, str]]) -> tuple[ColumnNote, ...]:
    return tuple(
        ColumnNote(name, kind, distinct, 12 if name == "hum" else 0, text)  # pyright: ignore
        for name, (kind, distinct, text) in names.items()
    )


def directions(
    columns: tuple[str, ...], projections: np.ndarray, n_effective: float = 3
) -> Directions:
    """Decaying weights on `columns`, first columns largest."""
    p = len(columns)
    rng = np.random.default_rng(1)
    r = min(p, 4)
    size = 0.62 ** np.arange(p)[:, None] * (1 + 0.5 * rng.standard_normal((p, r)))
    loadings = size * np.sign(rng.standard_normal((p, r)))
    loadings /= np.linalg.norm(loadings, axis=0)
    values = 0.42 ** np.arange(p)
    values /= values.sum()
    share = (loadings**2 @ values[:r]) / values[:r].sum()
    return Directions(
        method="rfm",
        encoded=columns,
        columns=columns,
        loadings=loadings,
        bars=Bars(columns, loadings, (True,) * len(columns)),
        importances=share,
        eigenvalues=values,
        eigenvalues_low=values * 0.86,
        eigenvalues_high=values * 1.13,
        n_effective=Interval(n_effective, n_effective - 1, n_effective),
        projections=projections,
    )


def importances(columns: tuple[str, ...], score: str = "R2") -> Importances:
    """Falling losses; the second and third column together, the last ones as the rest."""
    sets = [columns[:1], columns[1:3], *[(name,) for name in columns[3:20]], columns[20:]]
    found = [
        ColumnLoss(names, interval(0.8 * 0.5**k, 0.02 + 0.1 * 0.5**k), rest=k == 19)
        for k, names in enumerate(sets)
        if names
    ]
    return Importances("rfm", score, tuple(found), 1_000, 5)


def first_step(columns: tuple[str, ...], n: int = 2) -> FirstStep:
    """`n` directions of falling mass, each mainly of one column."""
    p, rng = len(columns), np.random.default_rng(2)
    folded = 0.2 * rng.standard_normal((p, n))
    folded[np.arange(n) % p, np.arange(n)] += 1.0
    mass = 0.03 + 0.45 * 0.6 ** np.arange(n)
    return FirstStep(
        method="induced-network",
        columns=columns,
        folded=folded / np.linalg.norm(folded, axis=0),
        mass=tuple(Interval(float(m), 0.8 * float(m), 1.25 * float(m)) for m in mass),
        parts=tuple(("both", "few", "most")[k % 3] for k in range(n)),
        p=0.02,
        width=0.1,
        unexplained=0.11,
        short=0.32,
        rows=5_000,
    )


def regression(n_test: int = 1_729, seed: int = 0) -> FitReport:
    """Hourly bike rentals: a wave in the first direction, a slope in the second."""
    rng = np.random.default_rng(seed)
    z = np.column_stack([rng.uniform(-1.9, 1.9, n_test), rng.standard_normal(n_test)])
    signal = 3.6 + 1.5 * np.sin(1.7 * z[:, 0] + 0.4) + 0.55 * z[:, 1] * (z[:, 0] > -0.6)
    y = np.clip(signal + 0.38 * rng.standard_normal(n_test), 0, None)
    pred = signal + 0.15 * rng.standard_normal(n_test)
    names = tuple(name for name, (kind, *_) in BIKES.items() if kind != "dropped")
    return FitReport(
        data="examples/data/bikeshare.csv",
        target="log1p(bikers)",
        task="regression",
        classes=(),
        n_rows=8_645,
        n_train=8_645 - n_test if n_test < 8_645 else 80_000,
        n_test=n_test,
        split="random, 20 % of rows held out",
        columns=column_notes(BIKES),
        methods=tuple(_regression_method(*m) for m in METHODS),
        verdict=Verdict(
            "yes",
            "Feature learning helps here: Recursive feature machine beats the best fixed-feature "
            "method, Kernel ridge (Laplace), by 0.311 in R2.",
            "R2",
            Interval(0.311, 0.284, 0.339),
            "rfm",
            "kernel",
        ),
        directions=directions(names, z),
        best="boosting",
        y_true=y,
        y_pred=pred,
        seed=0,
        versions={"gradfeat": "0.1.0", "python": "3.11.9", "torch": "2.13.0", "numpy": "2.3.1"},
        command="gradfeat fit examples/data/bikeshare.csv --target bikers --seed 0",
        seconds=64.2,
        first_step=first_step(names),
        importances=importances(names),
        remarks=(
            Remark("'temp' and 'atemp' are correlated by 0.99 or more: a group."),
            Remark("Column 'day': values above 300 do not occur in training rows.", "page"),
        ),
    )


def _regression_method(
    name: str, label: str, family: Family, r2: float, seconds: float, rows: int
) -> MethodResult:
    scores = {"R2": interval(r2, 0.012 + 0.03 * (1 - r2)), "RMSE": interval((1 - r2) ** 0.5, 0.03)}
    settings = {
        "linear": {"alpha": "1"},
        "rfm": {"kernel": "laplace", "bandwidth": "7.1", "alpha": "0.001", "n_iter": "5"},
        "kernel": {"kernel": "laplace", "bandwidth": "7.1", "alpha": "0.01"},
    }.get(name, {"width": "1024", "alpha": "0.1", "activation": "relu"})
    return MethodResult(name, label, family, scores, seconds, rows, settings)


def classification(n_classes: int = 3, n_test: int = 600, seed: int = 0) -> FitReport:
    """Classes as blobs on an arc; predictions are right about four times in five."""
    rng = np.random.default_rng(seed)
    names = ("Adelie", "Chinstrap", "Gentoo") if n_classes == 3 else ()
    classes = names or tuple(f"species {i + 1:02d}" for i in range(n_classes))
    weights = 0.93 ** np.arange(n_classes)
    codes = rng.choice(n_classes, n_test, p=weights / weights.sum())
    angle = np.pi * (codes / max(n_classes - 1, 1))
    z = np.column_stack([-2 * np.cos(angle), 1.6 * np.sin(angle)])
    z = z + (0.75 / max(n_classes / 3, 1)) * rng.standard_normal(z.shape)
    near = np.clip(codes + rng.choice([-1, 1], n_test), 0, n_classes - 1)
    pred = np.where(rng.uniform(size=n_test) < 0.82, codes, near)
    columns = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "island")
    notes: dict[str, tuple[str, int, str]] = dict.fromkeys(
        columns[:-1], ("number", 164, "scaled to mean 0, sd 1")
    )
    notes["island"] = ("category", 3, "one column a level")
    return replace(
        regression(),
        data="penguins.parquet",
        target="species",
        task="classification",
        classes=classes,
        n_rows=5 * n_test,
        n_train=4 * n_test,
        n_test=n_test,
        split="stratified, 20 % of rows held out",
        columns=column_notes(notes),
        methods=tuple(_classification_method(*m) for m in METHODS),
        verdict=Verdict(
            "unclear",
            "It is not clear that feature learning helps here: the difference in accuracy is "
            "0.012, and its interval contains zero.",
            "accuracy",
            Interval(0.012, -0.008, 0.033),
            "rfm",
            "kernel",
        ),
        directions=directions(columns, z, 2),
        best="rfm",
        y_true=codes,
        y_pred=pred,
        command="gradfeat fit penguins.parquet --target species",
        first_step=first_step(columns, 12 if n_classes == 12 else 0),
        importances=importances(columns, "accuracy"),
    )


def _classification_method(
    name: str, label: str, family: Family, r2: float, seconds: float, rows: int
) -> MethodResult:
    accuracy = 0.7 + 0.13 * r2 - (0.02 if family == "reference" else 0)
    scores = {
        "accuracy": interval(accuracy, 0.031),
        "log-loss": interval(1.1 - r2, 0.06),
        "AUC": interval(0.8 + 0.15 * r2, 0.02),
    }
    return MethodResult(name, label, family, scores, seconds, rows, {"alpha": "0.1"})


def with_failure(report: FitReport) -> FitReport:
    """The kernel method failed; one other interval is not known."""
    nan = float("nan")
    first, *rest = report.methods
    unknown = {s: Interval(i.estimate, nan, nan) for s, i in first.scores.items()}
    lost = [
        replace(m, scores={}, error="Needs 97.6 GB and 16 GB are free.")
        if m.name == "kernel"
        else m
        for m in rest
    ]
    return replace(report, methods=(replace(first, scores=unknown), *lost))


def wide(report: FitReport, p: int = 100) -> FitReport:
    """The same with `p` columns, one of them with a very long name."""
    names = (*tuple(f"measurement_{i:03d}" for i in range(p - 1)), "very_long_name_" * 8)
    notes = column_notes(dict.fromkeys(names, ("number", 900, "scaled to mean 0, sd 1")))
    z = report.directions.projections if report.directions else np.empty((0, 2))
    found = first_step(names, 4)
    lost = importances(names)
    found = replace(report, first_step=found, importances=lost)
    return replace(found, columns=notes, directions=directions(names, z))


def one_column(report: FitReport) -> FitReport:
    """d = 1: one direction, and no second projection."""
    assert report.directions is not None
    z = report.directions.projections.copy()
    z[:, 1] = np.nan
    found = directions((report.columns[1].name,), z, 1.0)
    found = replace(found, n_effective=Interval(1.0, 1.0, 1.0))
    columns = report.columns[1:2]
    lost = importances(found.columns)
    report = replace(report, columns=columns, directions=found, importances=lost)
    return replace(report, first_step=first_step(found.columns, 1))


def bare(report: FitReport) -> FitReport:
    """One method, no verdict, no directions."""
    alone = replace(report, methods=report.methods[:1], best="linear", verdict=None)
    return replace(alone, directions=None, first_step=None, importances=None, remarks=())


HOSTILE = "<script>alert(\"x\")</script>$\\frac{1}{$ & 'quoted'\x07\n--> {{ 7*7 }}"


def hostile(report: FitReport) -> FitReport:
    """Every text a user can choose is an attack or broken mathematics."""
    assert report.directions is not None
    names = (HOSTILE, *report.directions.columns[1:])
    notes = (replace(report.columns[0], name=HOSTILE, treatment=HOSTILE), *report.columns[1:])
    classes = (HOSTILE, *report.classes[1:]) if report.classes else ()
    return replace(
        report,
        data=HOSTILE,
        target=HOSTILE,
        classes=classes,
        columns=notes,
        directions=replace(
            report.directions, columns=names, bars=replace(report.directions.bars, names=names)
        ),
        first_step=first_step(names, 2),
        importances=importances(names),
        remarks=(Remark(HOSTILE), Remark(HOSTILE, "page")),
        methods=tuple(replace(m, label=f"{m.label} {HOSTILE}") for m in report.methods),
        command=HOSTILE,
    )


def all_failed(report: FitReport) -> FitReport:
    """No method could be fitted."""
    lost = tuple(replace(m, scores={}, error="No memory left.") for m in report.methods)
    empty = np.empty(0)
    return replace(
        bare(report), methods=lost, best="", y_true=empty, y_pred=empty, n_test=report.n_test
    )


def streamed(report: FitReport) -> FitReport:
    """Rows that were not held; one pass was finished before an interruption."""
    passes = (PassTime("Preparing: rows and target", 8_000, 1.6), PassTime("AGOP", 0, 0.0))
    return replace(report, streaming=Streaming(8, "2 threads <b>", 500, passes))


VARIANTS = {
    "regression": regression(),
    "three": classification(3),
    "twelve": classification(12, 2_400),
    "forty": classification(40, 4_000),
    "one-class": classification(1, 80),
    "failure": wide(with_failure(regression(400))),
    "one-column": one_column(regression()),
    "one-column-classes": one_column(classification(2)),
    "bare": bare(regression()),
    "hostile": hostile(regression()),
    "hostile-classes": hostile(classification(3)),
    "tiny": regression(3),
    "large": regression(20_000),
    "all-failed": all_failed(regression()),
    "streamed": streamed(bare(regression(50))),
}
