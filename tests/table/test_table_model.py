"""A table model predicts from tables, and comes back from its file as it was."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from gradfeat import load, save
from gradfeat.cli import app, guarded
from gradfeat.errors import ModelFileError, SourceError, TableError
from gradfeat.estimators import KernelClassifier, KernelRegressor
from gradfeat.estimators.checks import probabilities
from gradfeat.table.encode import TableEncoder
from gradfeat.table.methods import METHODS, MethodInput, validation_folds
from gradfeat.table.saved import load_table_model
from gradfeat.table.table_model import TableModel
from gradfeat.table.trusted import TRUSTED


def test_a_model_fitted_in_python_is_shown_as_others_are(tmp_path, capsys):
    frame = table()
    fitted = TableModel(Ridge()).fit(frame, frame["a"].rename("price"))
    save(fitted, tmp_path / "m.gradfeat")
    for words in (["--card"], ["--format", "json"], []):
        assert guarded(app, ["show", str(tmp_path / "m.gradfeat"), *words]) == 0
        said = capsys.readouterr()
        assert "Ridge" in said.out
        assert "price" in said.out
        assert said.err == ""
    assert "Ridge for price (regression), fitted on 40 rows of a data frame\n" in said.out


def test_a_warning_names_the_line_that_called(recwarn):
    frame = table()
    fitted = TableModel(Ridge()).fit(frame, frame["a"])
    strays = frame.astype({"a": object})
    strays.loc[3, "a"] = "??"
    fitted.score(strays, frame["a"])
    fitted.predict(strays)
    assert [one.filename for one in recwarn] == [__file__, __file__]


def table(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "kind": rng.choice(list("pqr"), n)})


def model(y: np.ndarray, classes: tuple[str, ...]) -> TableModel:
    encoder = TableEncoder().fit(table())
    make = KernelClassifier if classes else KernelRegressor
    estimator = make(random_state=0).fit(encoder.transform(table()), y)
    return TableModel.of(encoder, estimator, "y", classes, {"method": "Kernel ridge"})


@pytest.fixture(scope="module")
def classifier() -> TableModel:
    """Of three classes, of which the training rows have the first and the last."""
    return model(np.where(table()["a"] > 0, 2, 0), ("low", "mid", "high"))


def test_a_class_without_training_rows_has_probability_zero(classifier):
    P = probabilities(classifier.estimator_, classifier.encoder.transform(table()), 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert (P[:, 1] == 0).all()
    said = classifier.predictions(table())
    assert set(said["predicted_y"]) == {"low", "high"}
    assert list(said.columns[1:]) == [f"probability_{c}" for c in ("low", "mid", "high")]
    assert len(classifier.predictions(table().head(0))) == 0


def test_predictions_have_the_index_of_the_frame(classifier):
    """So that ``frame["p"] = model.predictions(frame)["predicted_y"]`` puts each at its row."""
    frame = table().sample(frac=1, random_state=0)
    for fitted in (classifier, model(table()["a"].to_numpy(), ())):
        said = fitted.predictions(frame)
        assert said.index.equals(frame.index)
        pd.testing.assert_frame_equal(said.sort_index(), fitted.predictions(table()))


def test_the_file_gives_the_same_model(classifier, tmp_path):
    for kept in (classifier, model(table()["a"].to_numpy(), ())):
        save(kept, tmp_path / "m")
        (tmp_path / "bytes").write_bytes(kept.to_bytes())
        again = load_table_model(tmp_path / "bytes").predictions(table())
        pd.testing.assert_frame_equal(again, kept.predictions(table()))
        back = load(tmp_path / "m", device="cpu")
        pd.testing.assert_frame_equal(back.predictions(table()), kept.predictions(table()))
        assert (back.target, back.classes, back.about) == (kept.target, kept.classes, kept.about)


@pytest.mark.parametrize("classes", [(), ("low", "mid", "high")])
def test_models_of_scikit_learn_come_back_too(classes, tmp_path):
    """The references of the comparison: trees, and a trained network in its pipeline."""
    encoder, y = TableEncoder().fit(table()), table()["a"].to_numpy()
    codes = np.arange(40) % 3
    for name in ("boosting", "trained-network"):
        method = next(m for m in METHODS if m.name == name)
        target = codes if classes else y
        folds = validation_folds(target, bool(classes))
        outputs = 3 if classes else 1
        asked = MethodInput(40, 13, bool(classes), 0, None, folds, 4, outputs, 0.1, 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = method.model(method.make(asked).fit(encoder.transform(table()), target))
        kept = TableModel.of(encoder, fitted, "y", classes, {"method": name})
        save(kept, tmp_path / "m")
        back = load(tmp_path / "m")
        pd.testing.assert_frame_equal(back.predictions(table()), kept.predictions(table()))
        assert not back.own
        with pytest.raises(ModelFileError, match="CPU alone"):
            load(tmp_path / "m", device="cpu")


def test_what_can_be_saved_of_scikit_learn_is_named(tmp_path):
    path, a = tmp_path / "m", table()["a"]
    y = a > 0
    trees = HistGradientBoostingClassifier(max_iter=5)
    for kept, target in ((SVR(), a), (LogisticRegression(), y), (trees, y)):
        save(TableModel(make_pipeline(StandardScaler(), kept)).fit(table(), target), path)
        assert len(load(path).predict(table())) == 40
    forest = TableModel(RandomForestClassifier(2)).fit(table(), y)
    with pytest.raises(ModelFileError, match=r"_tree\.Tree, which is not .* HistGradientBoosting"):
        save(forest, tmp_path / "forest")


class Foreign(Ridge):
    """An estimator that no file may name."""


def test_foreign_estimators_are_neither_written_nor_read(tmp_path, monkeypatch):
    encoder = TableEncoder().fit(table())
    fitted = Foreign().fit(encoder.transform(table()), table()["a"])
    kept = TableModel.of(encoder, fitted, "y", (), {})
    with pytest.raises(ModelFileError, match=r"holds .*Foreign, which is not among"):
        save(kept, tmp_path / "m")
    with monkeypatch.context() as patch:
        patch.setattr("gradfeat.table.trusted.TRUSTED", [f"{__name__}.Foreign", *TRUSTED])
        save(kept, tmp_path / "m")
    with pytest.raises(ModelFileError, match="not trusted"):
        load(tmp_path / "m")


def test_a_table_model_without_a_part_is_one_sentence(classifier):
    contents = classifier.to_contents()
    contents.state["parts"].pop("encoder")
    with pytest.raises(ModelFileError, match="lacks a part"):
        TableModel.from_contents(contents)


def test_other_columns_are_refused(classifier):
    with pytest.raises(TableError, match="lacks 'kind'"):
        classifier.predictions(table()[["a"]])


def test_a_bare_estimator_is_no_table_model(classifier, tmp_path):
    save(classifier.estimator_, tmp_path / "m")
    with pytest.raises(ModelFileError, match="without its table encoding"):
        load_table_model(tmp_path / "m")


def test_a_file_is_read_as_it_is_said_to_be_written(classifier, tmp_path):
    frame, path = table(5), tmp_path / "new.csv"
    text = "// made by me\n" + frame.to_csv(index=False, sep="!")
    path.write_text(text, encoding="utf-16")
    rows = classifier.read(path, separator="!", comment="//", encoding="utf-16")
    assert classifier.predict(rows).tolist() == classifier.predict(frame).tolist()
    with pytest.raises(SourceError, match="separator is '::'"):
        classifier.read(path, separator="::")


def test_a_target_in_a_column_of_a_frame_is_called_by_its_name():
    """There was an error of pandas in place of a model, as for words in place of numbers."""
    frame, y = pd.DataFrame({"a": range(8)}), pd.DataFrame({"price": range(8)})
    assert TableModel(Ridge()).fit(frame, y).target == "price"
    assert TableModel(Ridge()).fit(frame, pl.Series("cost", range(8))).target == "cost"
    digits = TableModel(Ridge()).fit(frame, y["price"].astype(str))
    assert (
        digits.predict(frame).tolist()
        == TableModel(Ridge()).fit(frame, y["price"]).predict(frame).tolist()
    )
    for other in (["a", "b"] * 4, np.array([None, 1.0] * 4, dtype=object)):
        with pytest.raises(TableError, match=r"The target is '(a|None)' in some rows: finite"):
            TableModel(Ridge()).fit(frame, other)


def test_a_second_fit_forgets_the_classes_of_the_first():
    frame, labels = pd.DataFrame({"a": range(8)}), np.array(["no", "yes"] * 4)
    model = TableModel(LogisticRegression()).fit(frame, labels)
    again = model.set_params(estimator=Ridge()).fit(frame, range(8))
    assert not hasattr(again, "classes_")


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(NotFittedError):
        save(TableModel(Ridge()), tmp_path / "m")
    with pytest.raises(ModelFileError, match="is not gradfeat's"):
        save(KernelRegressor, tmp_path / "m")
    days = np.array(["2020-02-01", "2021-03-01"] * 4, dtype="M8[D]")  # came back as text
    model = TableModel(LogisticRegression()).fit(pd.DataFrame({"a": range(8)}), days)
    with pytest.raises(ModelFileError, match="Labels that are dates are not saved"):
        save(model, tmp_path / "m")
