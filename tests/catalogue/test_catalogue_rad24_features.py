"""rad24-features: claims that can fail, networks to a loss, sources of pictures, bad settings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from gradfeat.catalogue.rad24_features import EXPERIMENT, batch
from gradfeat.catalogue.shared.feature_matrices import descend_to, leading_coordinates, relu_net
from gradfeat.catalogue.shared.picture_pairs import picture_pair, unit_rows
from gradfeat.drawing.panels import save_figure
from gradfeat.lab import judge, run
from gradfeat.maths.streams import stream
from gradfeat.tasks.images import ImageFileError

SMALL = {"source": "digits", "pair": "3/8", "n": 60, "width": 20, "steps": 30, "rounds": 2}


def made_up() -> pd.DataFrame:
    """The quick grid with what was seen: every claim holds."""
    table = pd.DataFrame([{**p.cell, "seed": p.seed} for p in EXPERIMENT.points("quick")])
    jitter = 1e-4 * table["seed"]
    levels = {
        "cosine": 0.94, "cosine_plain": 0.93, "cosine_permuted": 0.05, "cosine_inputs": 0.1,
        "ansatz_least": 0.97, "accuracy_network": 0.95, "accuracy_rfm": 0.99,
        "accuracy_best": 0.985, "accuracy_thresholded": 0.988,
    }  # fmt: skip
    return table.assign(**{name: value + jitter for name, value in levels.items()})


def outcomes(table: pd.DataFrame) -> list[str]:
    return [verdict.outcome for _, verdict in judge(EXPERIMENT, table)]


def test_claims_hold_on_what_was_seen():
    assert outcomes(made_up()) == ["holds"] * 7


@pytest.mark.parametrize(
    ("metric", "value", "claims"),
    [
        ("cosine", 0.6, [0, 1]),
        ("cosine_permuted", 0.7, [2]),
        ("cosine_inputs", 0.7, [2]),
        ("ansatz_least", 0.8, [3]),
        ("accuracy_rfm", 0.96, [4]),
        ("accuracy_network", 0.995, [5]),
        ("accuracy_thresholded", 0.95, [6]),
    ],
)
def test_each_claim_fails_where_its_number_is_wrong(metric, value, claims):
    table = made_up()
    table[metric] = value + 1e-4 * table["seed"]
    assert [i for i, found in enumerate(outcomes(table)) if found == "fails"] == claims


def test_one_pair_that_disagrees_is_enough_to_fail():
    table = made_up()
    table.loc[(table["pair"] == "1/7") & (table["layers"] == 3), "cosine"] = 0.6
    assert outcomes(table)[1] == "fails"


def test_features_agree_on_real_digits_and_not_with_permuted_labels():
    [[two, three]] = batch(
        [2, 3], "digits", "5/9", width=64, steps=250, rounds=2, until=0.05, seeds=[1]
    )
    for row in (two, three):
        assert row["cosine"] > 0.75
        assert row["cosine_permuted"] < 0.3
        assert row["accuracy_rfm"] > 0.9
        assert row["kept"] == 19  # 30 % of 64
    assert two["accuracy_rfm"] == three["accuracy_rfm"]


def test_layers_do_not_depend_on_which_are_asked_and_no_global_stream_is_touched():
    state = torch.get_rng_state()
    [[_, three]] = batch([2, 3], **SMALL, seeds=[2])
    [[alone]] = batch([3], **SMALL, seeds=[2])
    assert torch.equal(torch.get_rng_state(), state)
    assert three["cosine"] == alone["cosine"]
    assert three["step"] == alone["step"] == 30


def test_the_first_matrix_moves_by_the_gradient_of_the_loss():
    """One step of rate eta: W1 - W0 = -eta grad, in closed form for two layers."""
    X = torch.randn(30, 4, generator=stream(0, "X")).double()
    y = X[:, :1].sign()
    net = relu_net(4, 2, 5, 1.0, 0)
    W, a = (p.detach().double().clone() for p in net.parameters())
    *_, stage = descend_to(net, X, y, [1e-9], rate=0.1, steps=1)
    active = (X @ W.T > 0).double()
    residual = 2 / 30 * ((X @ W.T * active) @ a.T - y)
    moved = 0.1 * (residual * active * a).T @ X
    # float32 sums of 30 terms of size one: 30 * 6e-8 relative
    torch.testing.assert_close(stage.change, moved.T @ moved, rtol=1e-4, atol=1e-6)
    assert stage.step == 1


def test_stages_are_the_first_at_each_loss_and_the_last_step():
    X = torch.randn(50, 3, generator=stream(0, "X"))
    y = X[:, :1].relu()
    stages = list(descend_to(relu_net(3, 3, 20, 0.5, 0), X, y, [0.3, 0.1, 0.0], rate=0.1, steps=60))
    assert [s.loss <= level for s, level in zip(stages, (0.3, 0.1), strict=False)] == [True, True]
    assert stages[-1].step == 60
    assert not torch.equal(stages[0].weights, stages[-1].weights)


def test_the_share_kept_is_that_of_the_largest_diagonal():
    M = torch.diag(torch.tensor([0.5, 4.0, 0.1, 3.0]))
    assert leading_coordinates(M, 0.5).tolist() == [1, 3]
    assert leading_coordinates(M, 0.01).tolist() == [1]


def write_picture(path: Path, shade: int, where: int = 0, size: int = 6) -> None:
    pixels = np.full((size, size, 3), 20, np.uint8)
    pixels[where, :, 0] = shade
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(path)


def write_folder(folder: Path, n: int = 12) -> Path:
    for i in range(n):
        write_picture(folder / "cats" / f"{i}.png", 150 + i, where=0)
        write_picture(folder / "dogs" / f"{i}.png", 150 + i, where=5)
    return folder


def write_attributes(folder: Path, n: int = 24) -> Path:
    lines = [str(n), "Bald Smiling"]
    for i in range(n):
        smiles = i % 3 == 0
        write_picture(folder / "img_align_celeba" / f"{i:06}.png", 150 + i, where=5 * smiles)
        lines.append(f"{i:06}.png  {-1:2d} {1 if smiles else -1:2d}")
    path = folder / "list_attr_celeba.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def pictures(source: Path, pair: str, most: int = 100, size: int = 3, colour: bool = False):
    return picture_pair(str(source), pair, size, most, stream(0, "pictures"), colour=colour)


def test_a_folder_of_classes_is_read_resized_grey_or_in_colour(tmp_path):
    folder = write_folder(tmp_path)
    pair = pictures(folder, "cats/dogs")
    assert (pair.shape, pair.y.sum().item(), len(pair.y)) == ((3, 3), 0.0, 24)
    brightness = pair.X * pair.scale + pair.mean
    cats = brightness[pair.y[:, 0] < 0].reshape(-1, 3, 3)
    assert (cats[:, 0].mean() > cats[:, 2].mean()).item()  # the bright row is the first
    colour = pictures(folder, "cats/dogs", colour=True)
    assert colour.shape == (3, 3, 3)
    assert torch.allclose(unit_rows(colour).norm(dim=1), torch.ones(24).double())
    assert len(pictures(folder, "dogs/cats", most=5).y) == 10


def test_an_attribute_of_celeba_is_chosen_by_its_name(tmp_path):
    pair = pictures(write_attributes(tmp_path), "Smiling")
    assert ((pair.y > 0).sum().item(), (pair.y < 0).sum().item()) == (8, 16)
    smiling = (pair.X * pair.scale + pair.mean)[pair.y[:, 0] > 0].reshape(-1, 3, 3)
    assert (smiling[:, 2].mean() > smiling[:, 0].mean()).item()


@pytest.mark.parametrize("colour", ["no", "yes"])
def test_pictures_run_and_are_drawn(tmp_path, colour):
    cell = {"width": 10, "steps": 20, "rounds": 1, "size": 4, "n": 16, "colour": colour}
    table = run(
        EXPERIMENT, seeds=1, arrays=True, layers=[2], pair="Smiling",
        source=str(write_attributes(tmp_path)), **cell,
    )  # fmt: skip
    assert not table.attrs["failures"]
    assert table["picture_rfm"].iloc[0].shape == (4, 4)
    assert EXPERIMENT.figure is not None
    save_figure(EXPERIMENT.figure(table, None), tmp_path / "figure.png")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.write_text("2\nBald Smiling\n"), "is no attribute file"),
        (lambda p: p.write_bytes(b"\xff\xfe\x00"), "is no attribute file"),
        (lambda p: p.write_text("9\nSmiling\na.png 1\n"), "has 1 lines of pictures and says 9"),
        (lambda p: p.write_text("1\nSmiling\na.png 0\n"), "Line 3 of"),
        (
            lambda p: p.write_text("1\nBald\na.png 1\n"),
            "no attribute 'Smiling': choose one of Bald",
        ),
        (lambda p: p.write_text("1\nSmiling\na.png 1\n"), "neither beside it nor in a folder"),
        (
            lambda p: p.write_text("1\nSmiling\n000000.png 1\n"),
            "is the same in all pictures",
        ),
        (
            lambda p: p.write_text("2\nSmiling\n000000.png 1\nz.png -1\n"),
            "There is no picture",
        ),
        (
            lambda p: (p.parent / "img_align_celeba" / "000000.png").write_bytes(b"text"),
            "'000000.png' is damaged or no picture",
        ),
    ],
)
def test_a_bad_attribute_file_gets_one_sentence(tmp_path, change, words):
    path = write_attributes(tmp_path)
    change(path)
    with pytest.raises(ImageFileError, match=re.escape(words)) as caught:
        pictures(path, "Smiling")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("cats", "give two sub-folders with a stroke between"),
        ("cats/cats", "give two sub-folders with a stroke between"),
        ("cats/cows", "has no sub-folder 'cows': choose two of cats, dogs."),
    ],
)
def test_a_bad_pair_of_folders_gets_one_sentence(tmp_path, pair, words):
    with pytest.raises(ImageFileError, match=re.escape(words)):
        pictures(write_folder(tmp_path), pair)


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_picture_or_an_empty_folder_gets_one_sentence(tmp_path, cut):
    folder = write_folder(tmp_path)
    if cut:
        file = folder / "cats" / "3.png"
        file.write_bytes(file.read_bytes()[:60])
        with pytest.raises(ImageFileError, match=r"'3\.png' is damaged or no picture"):
            pictures(folder, "cats/dogs")
    else:
        (folder / "cows").mkdir()
        with pytest.raises(ImageFileError, match="The folder 'cows' has no files"):
            pictures(folder, "cats/cows")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"layers": [1]}, "layers is 1: give 2 or more."),
        ({"n": 1}, "n is 1: give 2 or more."),
        ({"keep": 1.5}, "keep is 1.5: give 1 or less."),
        ({"keep": 0.0}, "keep is 0.0: give a finite number above 0."),
        ({"until": -1.0}, "until is -1.0: give a finite number above 0."),
        ({"penalty": -0.1}, "penalty is -0.1: give 0 or more."),
        ({"colour": "blue"}, "colour is 'blue': give one of 'no', 'yes'."),
        ({"rounds": 0}, "rounds is 0: give 1 or more."),
        ({"pair": "3-8"}, "pair is '3-8'"),
    ],
)
def test_a_setting_that_cannot_be_fails_by_its_name(setting, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        batch(**{"layers": [2], **SMALL, **setting}, seeds=[0])
