"""What tables say, against figures computed by hand, and how they are written."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmark.reports.examples import by_hand, curves_of, cut, drawn
from headstart.benchmark.curves import RunKey
from headstart.benchmark.reports import tables
from headstart.benchmark.reports.renderers import best_cells, cell_text, csv_text, json_text, markdown, records
from headstart.benchmark.reports.tables import Cell, Column, Counts, Estimate, Resampling, Table
from headstart.benchmark.statistics import critical_difference

AT = (1, 2)
RESAMPLING = Resampling(seed=1, resamples=4000)


def column(table: Table, measure: str, trial: int | None = None, **names: str) -> dict[str, Cell]:
    """Return the cells of one column by the name of their row."""
    wanted = [
        c
        for c, found in enumerate(table.columns)
        if (found.measure, found.trial) == (measure, trial) and all(getattr(found, k) == v for k, v in names.items())
    ]
    assert len(wanted) == 1
    return {name: cells[wanted[0]] for name, cells in table.rows}


def value(cell: Cell) -> float:
    assert isinstance(cell, Estimate | float | int)
    return cell.value if isinstance(cell, Estimate) else cell


# --- what they say ---------------------------------------------------------------------------------------------------


def test_the_overview_has_macro_and_micro_regret_and_mean_rank() -> None:
    found = tables.overview(by_hand(), AT, RESAMPLING)
    for measure, trial, one, other in [
        ("regret_macro", 1, 0.35, 0.30),  # s: (.2 + .4) / 2 and (.5 + .3) / 2; t: .4 and .2
        ("regret_macro", 2, 0.25, 0.125),
        ("regret_micro", 1, 1 / 3, 1 / 3),
        ("regret_micro", 2, 0.2, 0.4 / 3),
        ("rank_macro", 1, 1.75, 1.25),  # one is first, second, second
        ("rank_macro", 2, 1.625, 1.375),  # first, tied, second
    ]:
        cells = column(found, measure, trial)
        assert (value(cells["one"]), value(cells["other"])) == (pytest.approx(one), pytest.approx(other)), measure


def test_the_intervals_of_the_overview_are_those_of_drawing_tasks_again() -> None:
    """Of s both tasks, the first twice, or the second twice are drawn: .1, 0, .2 at trial 2. Of t always the one."""
    cell = column(tables.overview(by_hand(), AT, RESAMPLING), "regret_macro", 2)["one"]
    assert isinstance(cell, Estimate)
    assert (cell.low, cell.high) == (pytest.approx(0.2), pytest.approx(0.3))
    assert tables.overview(by_hand(), AT, RESAMPLING) == tables.overview(by_hand(), AT, RESAMPLING)


def test_the_overview_says_how_much_was_compared_and_with_whom() -> None:
    note = tables.overview(by_hand(), AT, RESAMPLING).note
    assert "3 runs of each method (3 tasks, 2 spaces, 1 seed)" in note
    assert "Ranks are among one, other." in note
    assert "4,000 resamples, seed 1" in note


def test_a_method_that_ends_early_is_unknown_there_and_not_ranked() -> None:
    curves = cut(
        curves_of(["one", "other", "short"], [by_hand().regret[0], by_hand().regret[1], np.zeros((3, 3))]), 2, 1
    )
    found = tables.overview(curves, AT, RESAMPLING)
    assert value(column(found, "regret_macro", 1)["short"]) == 0.0
    assert column(found, "regret_macro", 2)["short"] is None
    assert column(found, "rank_macro", 1)["short"] is None
    assert value(column(found, "rank_macro", 2)["one"]) == pytest.approx(1.625)  # as if it were not there
    assert "Ranks are among one, other." in found.note
    assert "Not ranked, as runs end before trial 2: short." in found.note
    assert [name for name, _ in tables.win_tie_loss(curves, 2).rows] == ["one", "other"]


def test_one_task_per_space_gives_no_intervals_and_one_method_no_ranks() -> None:
    runs = (RunKey("s", "1", "0"), RunKey("s", "1", "1"), RunKey("t", "1", "0"))
    found = tables.overview(replace(by_hand(), runs=runs).of_methods(["one"]), AT, RESAMPLING)
    assert column(found, "regret_macro", 2) == {"one": pytest.approx(0.25)}
    assert "No intervals" in found.note
    assert not any(c.measure == "rank_macro" for c in found.columns)
    assert "No ranks" in found.note
    assert tables.average_rank(by_hand().of_methods(["one"]), AT, RESAMPLING) is None
    assert tables.win_tie_loss(by_hand().of_methods(["one"]), 2) is None


def test_average_ranks_and_places_in_the_pool() -> None:
    pool = np.repeat([[[1.0], [3.0], [8.0]], [[2.0], [2.0], [4.0]]], 3, axis=2)
    found = tables.average_rank(replace(by_hand(), pool_rank=pool), AT, RESAMPLING)
    assert found is not None
    assert column(found, "rank_micro", 2) == {"one": pytest.approx(1.5), "other": pytest.approx(1.5)}
    assert column(found, "pool_rank_macro", 1) == {"one": pytest.approx(5.0), "other": pytest.approx(3.0)}


def test_regret_per_space() -> None:
    first, second = tables.per_space(by_hand(), AT)
    assert (first.name, second.name) == ("per-space-1", "per-space-2")
    assert column(second, "regret", 2, method="one") == {"s": pytest.approx(0.1), "t": pytest.approx(0.4)}
    assert column(second, "regret", 2, method="other") == {"s": pytest.approx(0.15), "t": pytest.approx(0.1)}
    assert column(second, "tasks") == {"s": 2, "t": 1}
    assert best_cells(second) == {(0, 1), (1, 2)}  # the best of each row, and never the number of tasks
    assert tables.per_space(by_hand().of_space("s"), AT) == ()


def test_area_under_the_curve() -> None:
    found = tables.area(by_hand(), AT, RESAMPLING)
    assert value(column(found, "area_macro", 2)["one"]) == pytest.approx(0.35)  # s: (.225 + .375) / 2; t: .4
    assert value(column(found, "area_macro", 2)["other"]) == pytest.approx(0.29375)


def test_trials_to_reach_a_regret() -> None:
    found = tables.to_reach(by_hand(), (0.2, 0.05))
    assert column(found, "median_trials_to_0.2") == {"one": 2.0, "other": 2.0}  # 1, 2, never and 2, 2, 1
    assert column(found, "percent_of_runs_at_0.2") == {"one": pytest.approx(200 / 3), "other": 100.0}
    assert column(found, "median_trials_to_0.05")["one"] == np.inf
    assert cell_text(np.inf, found.columns[2]) == ">2"


def test_trials_to_reach_are_unknown_where_runs_end_too_early_to_tell() -> None:
    regret = np.array([[[0.5, 0.5, np.nan], [0.5, 0.1, np.nan], [0.4, 0.1, np.nan]]])
    found = tables.to_reach(curves_of(["short"], regret), (0.2,))
    assert column(found, "median_trials_to_0.2") == {"short": 1.0}  # whatever the first run would have done
    assert column(found, "percent_of_runs_at_0.2") == {"short": None}
    found = tables.to_reach(curves_of(["short"], regret[:, [0, 0, 1]]), (0.2,))
    assert column(found, "median_trials_to_0.2") == {"short": None}


@pytest.mark.parametrize("random", ["random", "Random"])
def test_trials_in_trials_of_random_search(random: str) -> None:
    found = tables.equals_random(by_hand("one", random), AT)
    assert found is not None
    # random search: .45, .3, .125; .35 is two thirds of the way from 0 to 1, .25 two sevenths of that from 1 to 2
    assert column(found, "equal_random_trials", 1) == {"one": pytest.approx(2 / 3)}
    assert column(found, "equal_random_trials", 2) == {"one": pytest.approx(1 + 2 / 7)}
    assert tables.equals_random(by_hand(), AT) is None


def test_wins_ties_and_losses() -> None:
    found = tables.win_tie_loss(by_hand(), 2)
    assert found is not None
    assert column(found, "runs", 2, against="other") == {"one": Counts(1, 1, 1), "other": None}
    late = tables.win_tie_loss(by_hand(), 1)
    assert late is not None
    assert column(late, "runs", 1, against="one")["other"] == Counts(2, 0, 1)


def test_critical_differences_have_the_best_first_and_adjusted_p_values() -> None:
    curves = drawn(["a", "b", "c"], tasks=6)
    difference = critical_difference(curves, 5)
    found = tables.critical(difference)
    assert [name for name, _ in found.rows] == list(difference.order)
    assert column(found, "p_adjusted", 5, against="a")["b"] == difference.adjusted[0, 1]
    assert column(found, "p_adjusted", 5, against="a")["a"] is None
    assert "12 tasks" in found.note
    assert "Friedman" in found.note
    assert "Friedman" not in tables.critical(critical_difference(curves.of_methods(["a", "b"]), 5)).note


def test_calibration_leaves_out_methods_that_predict_nothing() -> None:
    value_, mean, std = (np.full((2, 3, 3), np.nan) for _ in range(3))
    value_[0, :, 1:], mean[0, :, 1:], std[0, :, 1:] = 0.5, 0.5, 1.0
    mean[0, :, 2] = 0.5 - 1.5  # 1.5 deviations off: outside of 80 %, inside of 95 %
    curves = replace(by_hand(), value=value_, mean=mean, std=std)
    found = tables.calibration(curves)
    assert found is not None
    assert [name for name, _ in found.rows] == ["one"]
    assert column(found, "negative_log_density")["one"] == pytest.approx(0.5 * np.log(2 * np.pi) + 0.25 * 1.5**2)
    assert column(found, "coverage_80") == {"one": pytest.approx(0.5)}
    assert column(found, "coverage_95") == {"one": pytest.approx(1.0)}
    assert column(found, "predictions") == {"one": 6}
    assert "No predictions: other." in found.note
    assert tables.calibration(by_hand()) is None


def test_cost() -> None:
    cpu = np.full((2, 3, 3), np.nan)
    cpu[0, :, 1:] = [[1.0, 2.0], [3.0, 4.0], [5.0, np.nan]]
    cpu[0, :, 0] = 1000.0  # fitting before the first trial is no suggestion
    found = tables.cost(replace(by_hand(), cpu_ms=cpu))
    assert found is not None
    assert column(found, "cpu_ms_median") == {"one": 3.0}
    assert column(found, "cpu_ms_90") == {"one": pytest.approx(4.6)}
    assert tables.cost(by_hand()) is None


# --- how they are written --------------------------------------------------------------------------------------------

SMALL = Table(
    "small",
    "A <small> table",
    "method",
    (("a|b", (Estimate(0.12344, 0.1, 0.2), Counts(1, 2, 3), None)), ("<i>", (Estimate(0.5, 0.4, np.inf), None, 12345))),
    (
        Column("@5", "regret", "macro", 5, best="low"),
        Column("c", "runs", "vs", 5, against="c"),
        Column("n", "n", digits=0),
    ),
    "A note_with marks.",
)


def test_markdown_is_a_github_table_without_markup_of_others() -> None:
    assert markdown(SMALL).splitlines() == [
        "### A &lt;small&gt; table",
        "",
        "| method | macro @5 | vs c | n |",
        "|---|---:|---:|---:|",
        r"| a\|b | **0.1234 [0.1000, 0.2000]** | 1/2/3 | – |",
        "| &lt;i&gt; | 0.5000 [0.4000, ∞] | – | 12,345 |",
        "",
        r"A note\_with marks.",
    ]


def test_wide_tables_are_written_in_parts_by_measure() -> None:
    text = markdown(tables.overview(drawn(["a", "b"]), (3, 6, 12), RESAMPLING))
    heads = [line for line in text.splitlines() if line.startswith("| method")]
    assert heads == [
        "| method | macro regret @3 | macro regret @6 | macro regret @12 |",
        "| method | mean rank @3 | mean rank @6 | mean rank @12 |",
        "| method | micro regret @3 | micro regret @6 | micro regret @12 |",
    ]


def test_csv_has_one_number_a_line() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([SMALL, *tables.per_space(by_hand(), (2,))]))))
    assert rows[0] == {
        "table": "small", "space": "", "method": "a|b", "against": "", "measure": "regret", "trial": "5",
        "value": "0.12344", "low": "0.1", "high": "0.2",
    }  # fmt: skip
    counts = [(row["measure"], row["against"], row["value"]) for row in rows[1:4]]
    assert counts == [("runs_wins", "c", "1"), ("runs_ties", "c", "2"), ("runs_losses", "c", "3")]
    spaces = [row for row in rows if row["table"] == "per-space-2" and row["measure"] == "regret"]
    assert [(row["space"], row["method"], float(row["value"])) for row in spaces] == [
        ("s", "one", 0.1),
        ("s", "other", 0.15),
        ("t", "one", 0.4),
        ("t", "other", 0.1),
    ]


def test_json_is_one_object_without_what_json_does_not_know() -> None:
    found = json.loads(json_text([SMALL], {"title": "x"}), parse_constant=pytest.fail)
    assert found["title"] == "x"
    table = found["tables"]["small"]
    assert table["title"] == SMALL.title
    assert {"method": "<i>", "measure": "regret", "trial": 5, "value": 0.5, "low": 0.4, "high": "inf"} in table[
        "numbers"
    ]
    assert len(table["numbers"]) == len(list(records(SMALL)))


@pytest.mark.parametrize(
    ("cell", "column_", "text"),
    [
        (0.00004, Column("", "regret"), "0.0000"),
        (-0.00004, Column("", "regret"), "0.0000"),
        (0.0004, Column("", "p_adjusted", digits=3), "<0.001"),
        (0.0006, Column("", "p_adjusted", digits=3), "0.001"),
        (None, Column("", "regret"), "–"),
        (1234.5, Column("", "cpu", digits=1), "1,234.5"),
    ],
)
def test_numbers_have_sensible_digits(cell: Cell, column_: Column, text: str) -> None:
    assert cell_text(cell, column_) == text


def test_equal_numbers_are_equally_good_and_nothing_is_best_where_all_are() -> None:
    columns = (Column("a", "a", best="low"), Column("b", "b", digits=0, best="high"), Column("c", "c"))
    rows = (("x", (0.10001, 3.0, 1.0)), ("y", (0.10004, 3.0, 2.0)), ("z", (0.2, 3.0, 3.0)))
    assert best_cells(Table("t", "t", "method", rows, columns)) == {(0, 0), (1, 0)}
