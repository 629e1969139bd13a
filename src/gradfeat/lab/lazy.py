"""What trials and theories compute with, imported when it is used: `lazy.GradientStep(512)`."""
# ruff: noqa: F401

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradfeat.diagnostics.alignment import cosines, pattern_signal
    from gradfeat.diagnostics.clusters import isotropic_concentration, two_groups
    from gradfeat.diagnostics.neuron_map import neuron_maps
    from gradfeat.maths.activations import (
        CentredReLU,
        Polynomial,
        ReLU,
        Tanh,
        TruncatedReLU,
        UserActivation,
        activation,
    )
    from gradfeat.maths.blocks import Block, collect
    from gradfeat.maths.feature_ridge import feature_ridge, ridge_fit
    from gradfeat.maths.hermite import HermiteSeries, gauss_hermite, orthonormal_hermite
    from gradfeat.maths.linear_algebra import (
        flat_cosine,
        leading_directions,
        leading_singular,
        principal_angles,
        singular_values,
    )
    from gradfeat.maths.multi_hermite import MultiHermite
    from gradfeat.maths.ridge import ridge_path
    from gradfeat.maths.simplified_gradients import simplified_gradients
    from gradfeat.maths.statistics.gradient_sums import FirstLayerGradient
    from gradfeat.maths.step_names import HEAD_LAWS, RESIDUALS, ROW_LAWS
    from gradfeat.maths.streams import numpy_stream, stream
    from gradfeat.models.descent.gradient_descent import GradientDescent, batches, trained
    from gradfeat.models.descent.layers import Layers, Start
    from gradfeat.models.descent.loop import descend, trace
    from gradfeat.models.descent.phases import SHI22_STEP_SIZES, Phase, shi22_phases
    from gradfeat.models.descent.trained import AllLayers, Batch
    from gradfeat.models.gradient_features.feature_set import standardised
    from gradfeat.models.gradient_step import GradientStep
    from gradfeat.models.head import RidgeHead, affine_part, refit_head
    from gradfeat.models.induced.network import SignedDirections
    from gradfeat.models.induced.opt import opt_bounds
    from gradfeat.models.kernel_ridge import KernelRidge
    from gradfeat.models.kernels.network import NetworkKernel, TwoLayerTangent
    from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern
    from gradfeat.models.losses import Hinge, Logistic, Squared
    from gradfeat.models.predictors import KernelMachine
    from gradfeat.models.random_features import RandomFeatures, draw, draw_first_layer
    from gradfeat.models.rfm import RFM
    from gradfeat.models.solvers.base import System
    from gradfeat.models.solvers.conjugate_gradients import ConjugateGradients
    from gradfeat.models.solvers.direct import Direct
    from gradfeat.models.solvers.eigenpro import EigenPro
    from gradfeat.models.solvers.nystrom import Nystrom
    from gradfeat.models.solvers.nystrom_cg import NystromCG
    from gradfeat.models.solvers.richardson import Richardson
    from gradfeat.models.step_sizes import first_step
    from gradfeat.models.tangent_ridge import TangentRidge
    from gradfeat.rows.rows import in_memory
    from gradfeat.tasks.base import Sample
    from gradfeat.tasks.images import ImagePair
    from gradfeat.tasks.linear_labels import GaussianParity
    from gradfeat.tasks.low_dimensional_support import LowDimensionalSupport
    from gradfeat.tasks.multi_index import MultiIndex
    from gradfeat.tasks.one_dimensional import OneDimensional
    from gradfeat.tasks.parity_blocks import ParityBlocks
    from gradfeat.tasks.simple_and_complex import SimpleAndComplex
    from gradfeat.tasks.single_index import SingleIndex
    from gradfeat.tasks.sparse_coding import SparseCoding
    from gradfeat.tasks.targets import (
        GatedProduct,
        SumOfSines,
        TruncatedPower,
        coordinate_product,
        he1_he2,
        he2_hep,
        heaviside,
        pure_hermite,
    )
    from gradfeat.theory.bounds import (
        explicit_network,
        fixed_feature_bound,
        guarantee_sizes,
        loss_bound,
        query_bound,
    )
    from gradfeat.theory.committee import committee_error, committee_path
    from gradfeat.theory.damian22_gradient import (
        gradient_series,
        leading_term,
        population_gradient,
        relative_error,
    )
    from gradfeat.theory.damian22_noise import sampling_variance
    from gradfeat.theory.damian22_rates import (
        network_loss,
        network_samples,
        query_samples,
        query_tolerance,
        transfer_loss,
    )
    from gradfeat.theory.finite_step_errors import finite_step_errors, finite_step_share
    from gradfeat.theory.generative_exponent import generative_exponent
    from gradfeat.theory.gradient_direction import gradient_direction, limit_degree, own_power
    from gradfeat.theory.head_law import HeadLaw
    from gradfeat.theory.input_spectra import gaussian_law, interval_law, minimax_exponent
    from gradfeat.theory.kernel_curve import ridge_risk, tuned_risk
    from gradfeat.theory.kernel_flow import kernel_growth_bound, lazy_loss
    from gradfeat.theory.label_gradients import (
        BlockLaw,
        mixture_gradient,
        normal_density,
        parity_gradient,
        sign_gradient,
    )
    from gradfeat.theory.one_step_errors import column_errors, limit_errors
    from gradfeat.theory.one_step_spectrum import feature_spectrum, first_layer_outlier
    from gradfeat.theory.online_sgd import SphereSGD, step_size, time_exponent
    from gradfeat.theory.patterns import PatternLaw, best_linear_accuracy
    from gradfeat.theory.reused_sample_errors import reused_sample_errors
    from gradfeat.theory.rfm_rounds import rfm_rounds, round_exponent
    from gradfeat.theory.ridge_errors import learned_shares, moments, random_feature_errors
    from gradfeat.theory.second_step import second_gradient, step_outliers
    from gradfeat.theory.shi22_moments import (
        gradient_moments,
        leading_signal,
        population_step,
        predicted_cosine,
    )
    from gradfeat.theory.teacher import Teacher
    from gradfeat.theory.zonal_spectrum import homogeneous_shares, zonal_spectrum
else:

    def __getattr__(name: str) -> Any:
        if name not in _homes():
            raise AttributeError(f"lazy has no {name!r}: add its import to lab/lazy.py.")
        return getattr(import_module(_homes()[name]), name)


@cache
def _homes() -> dict[str, str]:
    """The module of each name, by the imports above, which type checkers read."""
    imports = r"^    from (gradfeat\S+) import ([^()\n]+|\([^()]+\))$"
    found = re.findall(imports, Path(__file__).read_text("utf-8"), re.M)
    return {name: module for module, names in found for name in re.findall(r"\w+", names)}
