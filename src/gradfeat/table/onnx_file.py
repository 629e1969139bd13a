"""Fitted models as ONNX files, for programs without Python."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from gradfeat.errors import ModelFileError
from gradfeat.estimators.agop_transformer import AGOPTransformer
from gradfeat.estimators.base import column_names
from gradfeat.estimators.checks import to_numpy
from gradfeat.estimators.persistence import CLASSES
from gradfeat.estimators.scaled import ClassProbabilities, ScaledPredictor, TableFunction
from gradfeat.maths.files import refused, replace_file
from gradfeat.models.base import Predictor
from gradfeat.models.predictors import KernelMachine, TwoLayer, apply_metric
from gradfeat.models.stacked import Stacked
from gradfeat.models.subspace_refit import Projected
from gradfeat.table.encode import TableEncoder
from gradfeat.table.reading.missing import DeclaredMissing
from gradfeat.table.reading.plan import MISSING
from gradfeat.table.table_model import TableModel
from gradfeat.table.target import LARGEST_LOG
from gradfeat.wording import listing

Rows = Callable[[Tensor], Tensor]


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to an ONNX file, which other programs evaluate.

    The input ``X`` (rows, d) is float64: what the estimator takes or, of a table model, the columns
    of its table in the order of ``encoder.columns_`` (kept in the file's metadata), nan where a
    value is missing. The output ``y`` is (rows, targets), or (rows, classes) with probabilities.
    Written are two-layer networks, kernel machines of radial kernels and means of such, of tables
    of numbers, and the coordinates of an AGOPTransformer.

    Parameters
    ----------
    model : a fitted gradfeat estimator or table model
        What to write.
    path : path-like
        Where; by convention ``.onnx``.

    Raises
    ------
    ModelFileError
        One sentence: what of the model ONNX cannot hold, which packages are missing, or that the
        file cannot be written.
    NotFittedError
        Of a model that is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from gradfeat import GradientFeatureRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = GradientFeatureRegressor(width=16).fit(X, X[:, 0])
    >>> export_onnx(model, "model.onnx")  # doctest: +SKIP
    """
    if type(model) not in {TableModel, *CLASSES.values()}:
        raise ModelFileError(
            f"A {type(model).__name__} is not gradfeat's: give an estimator or a table model that "
            "is, and export models of scikit-learn by skl2onnx."
        )
    check_is_fitted(model)
    names, rows = _described(model)
    example = torch.zeros(3, len(names), dtype=torch.float64)
    data = _bytes(_Graph(rows), example, names)
    with refused(path, ModelFileError):
        replace_file(path, data)


class _Graph(nn.Module):
    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.rows = rows

    def forward(self, X: Tensor) -> Tensor:
        return self.rows(X)


def _bytes(graph: nn.Module, example: Tensor, names: list[str]) -> bytes:
    try:
        with _quiet():
            program = torch.onnx.export(
                graph, (example,), dynamo=True, verbose=False, input_names=["X"],
                output_names=["y"], dynamic_shapes={"X": {0: torch.export.Dim.DYNAMIC}},
            )  # fmt: skip
    except ImportError as error:
        raise ModelFileError(
            f"ONNX files need {error.name}, which is not installed: pip install 'gradfeat[onnx]'."
        ) from error
    except torch.onnx.errors.OnnxExporterError as error:
        raise ModelFileError(
            "ONNX has no operation for a part of this model: give a two-layer network, or a kernel "
            "machine with a kernel of distances such as laplace."
        ) from error
    model = cast("torch.onnx.ONNXProgram", program).model
    if any(node.op_type == "Erf" for node in model.graph):
        raise ModelFileError(
            "Programs that read ONNX have erf for float32 alone: fit with the activation tanh or "
            "relu."
        )
    model.metadata_props["columns"] = "\n".join(names)
    return cast("torch.onnx.ONNXProgram", program).model_proto.SerializeToString()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter tells of packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _described(model: Any) -> tuple[list[str], Rows]:
    """Names of the input columns, and the model as a function of tensors."""
    match model:
        case TableModel(estimator_=estimator, encoder=encoder, scale=scale, own=True):
            encoded, inner = _encoding(encoder), _function(estimator._function())
            names, shift = list(encoder.columns_), scale.shift
            if shift is None:
                return names, lambda X: inner(encoded(X))

            def back(X: Tensor) -> Tensor:
                return (inner(encoded(X)).clamp(max=LARGEST_LOG).exp() - shift).clamp(min=0.0)

            return names, back
        case TableModel(about=about):
            raise ModelFileError(
                f"The model ({about.get('method', 'of scikit-learn')}) is scikit-learn's: export "
                "its estimator_ by skl2onnx."
            )
        case AGOPTransformer(model_=machine, components_=components):
            mean, scale = machine._inputs.tensors()
            V = torch.as_tensor(to_numpy(components)).double().T
            return column_names(model), lambda X: ((X - mean) / scale) @ V
        case _:
            return column_names(model), _function(model._function())


def _encoding(encoder: TableEncoder) -> Rows:
    """Numbers of a table as the encoder gives them."""
    other = {note.name for note in encoder.notes_ if note.kind != "number"} & {*encoder.columns_}
    if other:
        raise ModelFileError(
            f"{listing(sorted(other))} are no numbers as they are, which ONNX could not read as "
            "gradfeat does: export the model's estimator_, and give the file what "
            "encoder.transform makes of a table."
        )
    where = [encoder.columns_.index(column.source) for column in encoder._encoded]
    fill = torch.tensor([column.fill for column in encoder._encoded], dtype=torch.float64)
    flags = torch.tensor([column.part == MISSING for column in encoder._encoded])
    missing = DeclaredMissing(encoder.missing)
    declared = [torch.tensor(missing.numbers(column.source)) for column in encoder._encoded]
    codes = pad_sequence([code.double() for code in declared], padding_value=torch.nan)

    def encoded(X: Tensor) -> Tensor:
        picked = X[:, where]
        gaps = picked.isnan()
        for code in codes:
            gaps = gaps | (picked == code)
        return torch.where(flags, gaps.double(), torch.where(gaps, fill, picked))

    return encoded


def _function(f: TableFunction) -> Rows:
    match f:
        case ClassProbabilities(decisions=decisions, calibration=calibration):
            inner, shift = _function(decisions), torch.tensor(calibration.shift).double()

            def probabilities(X: Tensor) -> Tensor:
                f = inner(X)
                both = torch.cat([-f, f], 1) if f.shape[1] == 1 else f
                return torch.softmax(calibration.scale * both + shift, 1)

            return probabilities
        case ScaledPredictor(predictor=predictor, inputs=inputs, targets=targets, where=where):
            (mean, scale), (centre, size) = inputs.tensors(), targets.tensors()
            inner = _predictor(predictor)
            return lambda X: inner(((X - mean) / scale).to(where.dtype)).double() * size + centre
        case _:
            raise _unknown(f)


def _predictor(f: Predictor) -> Rows:
    match f:
        case TwoLayer(features=features, a=a, beta=beta, offset=offset):
            return lambda X: features(X) @ a + X @ beta + offset
        case KernelMachine(kernel=kernel, _ZA=ZA, A=A, c=c, offset=offset):
            return lambda X: kernel(apply_metric(X.to(ZA), A), ZA) @ c + offset
        case Projected(inner=inner, B=B):
            along = _predictor(inner)
            return lambda X: along(X.to(B) @ B)
        case Stacked(parts=parts, weights=weights):
            each = [_predictor(part) for part in parts]
            return lambda X: sum(
                (v.to(X) * f(X) for v, f in zip(weights, each, strict=True)), X.new_zeros(1)
            )
        case _:
            raise _unknown(f)


def _unknown(f: object) -> ModelFileError:
    return ModelFileError(
        f"A {type(f).__name__} is not written as ONNX: give a two-layer network or one kernel "
        "machine, as GradientFeatureRegressor and KernelRegressor fit, or an RFM of trees=False."
    )
