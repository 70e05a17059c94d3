"""Looks of methods, where things stand in a picture, and the files that matplotlib writes."""

import itertools
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.reports.examples import by_hand, curves_of, cut, drawn, without_predictions
from headstart.arrays import Array
from headstart.benchmark.reports import pictures
from headstart.benchmark.reports.layout import critical_layout, log_range, log_ticks, spread
from headstart.benchmark.reports.palette import KNOWN, styles
from headstart.benchmark.reports.pictures import Lines, end_labels
from headstart.benchmark.reports.plots import PlotError
from headstart.benchmark.reports.report import Report, write
from headstart.benchmark.reports.tables import Resampling
from headstart.benchmark.statistics import critical_difference
from headstart.errors import MissingDependencyError

RESAMPLING = Resampling(resamples=50)
NOTHING = np.empty((2, 0))

# --- looks -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=8) | st.sampled_from(sorted(KNOWN)), unique=True, max_size=40))
def test_no_two_methods_of_a_picture_look_alike(methods: list[str]) -> None:
    found = styles(methods)
    assert list(found) == methods
    assert len(set(found.values())) == len(methods)


@given(st.lists(st.text(max_size=8), unique=True, min_size=1, max_size=12))
def test_looks_depend_neither_on_the_order_nor_for_known_methods_on_the_others(others: list[str]) -> None:
    found = styles(["gp", *(name for name in others if name != "gp")])
    assert found["gp"] == KNOWN["gp"]
    assert found == styles(list(reversed(found)))


def test_an_unknown_method_keeps_its_look_where_no_competitor_has_it() -> None:
    alone = styles(["my-method"])["my-method"]
    rivals = [name for name, look in KNOWN.items() if look.colour != alone.colour]
    assert styles(["my-method", *rivals[:3]])["my-method"] == alone


def test_unknown_methods_take_free_colours_first() -> None:
    found = styles(["gp", "rf", "random", *(f"new {n}" for n in range(8))])
    assert len({look.colour for look in found.values()}) == len(found)


@pytest.mark.parametrize(
    ("published", "ours"), [("GP", "gp"), ("Random", "random"), ("FSBO", "fsbo"), ("TST", "tst-r")]
)
def test_published_files_have_the_colour_of_their_family_and_differ_by_hollow_markers(
    published: str, ours: str
) -> None:
    assert KNOWN[published].colour == KNOWN[ours].colour
    assert (KNOWN[published].is_hollow, KNOWN[ours].is_hollow) == (True, False)


# What those see who lack one kind of cone, for linear RGB: Machado, Oliveira and Fernandes (2009), severity 1
SIGHTS = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab(colour: str, sight: Array) -> Array:
    """Return CIE L*a*b* of ``colour`` as it is seen."""
    coded = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(sight @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIGHTS)
def test_methods_that_share_marker_and_line_differ_in_colour_for_every_eye(sight: str) -> None:
    seen = {name: lab(look.colour, np.asarray(SIGHTS[sight])) for name, look in KNOWN.items()}
    for one, other in itertools.combinations(KNOWN, 2):
        first, second = KNOWN[one], KNOWN[other]
        if (first.marker, first.line, first.is_hollow) == (second.marker, second.line, second.is_hollow):
            assert np.linalg.norm(seen[one] - seen[other]) > 15, f"{one} and {other}"  # 2 is what an eye can tell


# --- where things stand ----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.2))
def test_labels_are_spread_in_order_and_stay_inside(places: list[float], gap: float) -> None:
    found = spread(places, gap, 0.0, 1.0)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in found)
    order = np.argsort(places, kind="stable")
    steps = np.diff(np.array(found)[order])
    assert np.all(steps >= min(gap, 1 / max(len(places) - 1, 1)) - 1e-9)


def test_labels_with_room_do_not_move_and_others_as_little_as_possible() -> None:
    assert spread([0.9, 0.1, 0.5], 0.2, 0.0, 1.0) == pytest.approx([0.9, 0.1, 0.5])
    assert spread([0.5, 0.5, 0.9], 0.2, 0.0, 1.0) == pytest.approx([0.4, 0.6, 0.9])  # around their common place


@given(st.floats(1e-5, 1.0), st.floats(1.43, 1e5))
def test_logarithmic_axes_have_labels_inside_that_ascend(low: float, ratio: float) -> None:
    found = log_ticks(low, low * ratio)
    assert 3 <= len(found) <= 14
    assert found == sorted(set(found))
    assert low <= found[0] <= found[-1] <= low * ratio


def test_zero_regret_is_drawn_at_the_edge_and_said_so() -> None:
    lines = Lines("", "", "", ("m",), np.arange(3.0), np.array([[0.5, 0.01, 0.0]]), is_log=True)
    low, high = lines.y_range
    assert 0 < low < 0.01
    assert high > 0.5
    np.testing.assert_array_equal(lines.drawn(lines.values), [[0.5, 0.01, low]])
    assert lines.shows_zero
    without = Lines("", "", "", ("m",), np.arange(2.0), np.array([[0.5, 0.01]]), is_log=True)
    assert not without.shows_zero
    assert log_range(np.zeros((1, 3)), NOTHING) == (1e-6, 1.0)  # nothing but zeros


def test_bands_fit_the_axis_unless_they_reach_for_zero() -> None:
    values = np.array([[0.3]])
    low, high = log_range(values, np.array([[0.2], [0.4]]))
    assert low < 0.2 < 0.4 < high
    assert 0.05 < log_range(values, np.array([[0.0], [0.4]]))[0] < 0.1


def test_names_stand_at_the_ends_of_curves_that_reach_the_edge() -> None:
    values = np.array([[1.0, 0.0], [1.0, np.nan], [1.0, 1.0]])
    lines = Lines("", "", "", ("a", "b", "c"), np.arange(2.0), values)
    (first, low), (second, high) = end_labels(lines, 0.05)
    assert (first, second) == (0, 2)
    assert 0 <= low < 0.1
    assert 0.9 < high <= 1


def test_a_critical_difference_diagram_has_every_method_once_and_marks_the_members_of_bars() -> None:
    found = critical_difference(drawn(list("abcde"), tasks=8), 6)
    layout = critical_layout(found)
    assert {label.method: label.rank for label in layout.labels} == dict(zip(found.methods, found.ranks, strict=True))
    assert sum(label.is_left for label in layout.labels) == 3
    assert len({(label.is_left, label.y) for label in layout.labels}) == 5
    ranks = dict(zip(found.methods, found.ranks, strict=True))
    wanted = sorted(tuple(sorted(float(ranks[name]) for name in clique)) for clique in found.cliques)
    assert sorted(bar.ranks for bar in layout.bars) == wanted
    assert min(label.y for label in layout.labels) > max(bar.y for bar in layout.bars)
    assert layout.first <= found.ranks.min()
    assert found.ranks.max() <= layout.last


# --- what is drawn ---------------------------------------------------------------------------------------------------


def test_curves_are_the_means_of_the_tables() -> None:
    lines = pictures.regret_lines(by_hand(), RESAMPLING.interval)
    np.testing.assert_allclose(lines.values, [[0.45, 0.35, 0.25], [0.45, 0.3, 0.125]])
    assert lines.low is not None
    assert lines.low[0, 2] == pytest.approx(0.2)
    ranks = pictures.rank_lines(by_hand(), RESAMPLING.interval)
    np.testing.assert_allclose(ranks.values, [[1.5, 1.75, 1.625], [1.5, 1.25, 1.375]])
    first, second = pictures.space_lines(by_hand())
    np.testing.assert_allclose(first.values, [[0.5, 0.3, 0.1], [0.5, 0.4, 0.15]])
    assert (first.title, second.title) == ("s (2 tasks)", "t (1 task)")


def test_calibration_compares_shares_with_probabilities() -> None:
    value = np.full((1, 3, 3), 0.5)
    std = np.ones((1, 3, 3))
    curves = curves_of(["m"], by_hand().regret[:1], value=value, mean=value - 0.6744, std=std)
    lines = pictures.calibration_lines(curves)  # all are just inside of the 50 % interval
    assert lines is not None
    np.testing.assert_array_equal(lines.values, (lines.x >= 0.5)[None].astype(float))
    assert pictures.calibration_lines(by_hand()) is None


def test_cost_is_the_median_over_runs() -> None:
    cpu = np.full((2, 3, 3), np.nan)
    cpu[0, :, 1] = [1.0, 2.0, 9.0]
    lines = pictures.cost_lines(curves_of(["m", "n"], by_hand().regret, cpu_ms=cpu))
    assert lines is not None
    assert lines.methods == ("m",)
    np.testing.assert_array_equal(lines.values, [[2.0, np.nan]])
    assert pictures.cost_lines(by_hand()) is None


# --- files -----------------------------------------------------------------------------------------------------------

NAMES = ["regret", "rank", "calibration", "cost", "spaces", "critical-6", "critical-12"]


def test_pictures_are_written_under_fixed_names_and_show_something(tmp_path: Path) -> None:
    matplotlib_image = pytest.importorskip("matplotlib.image")
    report = Report(curves=drawn(["random", "gp", "m<$y$>&"]), at=(6, 12), resampling=RESAMPLING)
    files = write(report, "png", tmp_path).files
    assert [file.name for file in files] == [f"{name}.png" for name in NAMES]
    for file in files:
        shown = matplotlib_image.imread(file)
        assert min(shown.shape[:2]) > 200
        assert len(np.unique((255 * shown[::3, ::3, :3]).astype(int).reshape(-1, 3), axis=0)) > 30  # colours


def test_svg_files_hold_the_names_as_text_and_are_the_same_every_time(tmp_path: Path) -> None:
    report = Report(curves=drawn(["random", "gp", "m<$y$>&"]), at=(6, 12), resampling=RESAMPLING)
    files = write(report, "svg", tmp_path / "one").files
    assert [file.name for file in files] == [f"{name}.svg" for name in NAMES]
    for file in files:
        text = " ".join(ET.fromstring(file.read_text()).itertext())
        assert "gp" in text
        assert "m<$y$>&" in text
    again = write(report, "svg", tmp_path / "two").files
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]


def test_a_curve_that_ends_early_carries_its_name_where_it_ends(tmp_path: Path) -> None:
    report = Report(curves=cut(without_predictions(drawn(["random", "rf"])), 1, 4), resampling=RESAMPLING)
    files = {file.stem: file for file in write(report, "svg", tmp_path).files}
    assert set(files) == {"regret", "spaces"}  # one method alone is not ranked
    assert "rf (ends at 4)" in " ".join(ET.fromstring(files["regret"].read_text()).itertext())


def test_one_method_on_one_task(tmp_path: Path) -> None:
    curves = without_predictions(drawn(["gp"], spaces=["svm"], tasks=1, seeds=1, trials=1))
    files = write(Report(curves=curves, resampling=RESAMPLING), "svg", tmp_path).files
    assert [file.name for file in files] == ["regret.svg"]


def test_a_picture_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(PlotError, match=r"regret\.png cannot be written: .* --out"):
        write(Report(curves=by_hand(), resampling=RESAMPLING), "png", tmp_path / "file")


def test_without_matplotlib_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'headstart\[bench\]'"):
        write(Report(curves=by_hand(), resampling=RESAMPLING), "png", tmp_path)
