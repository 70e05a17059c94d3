"""The whole report: what it says in every format, what it leaves out, and that a page needs nothing but itself."""

import csv
import io
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from benchmark.reports.examples import by_hand, cut, drawn, without_predictions
from headstart.benchmark.curves import Curves
from headstart.benchmark.reports.report import Report, ReportError, all_tables, document, machine, versions, write
from headstart.benchmark.reports.tables import Resampling
from headstart.errors import MissingDependencyError, SettingsError

NASTY = '</script><b>"m" & $x$'
RESAMPLING = Resampling(resamples=50)


def report(curves: Curves | None = None, at: tuple[int, ...] = (6, 12)) -> Report:
    curves = drawn(["random", "gp", NASTY], spaces=["svm", "<i>rf</i>"]) if curves is None else curves
    return Report(
        curves=curves,
        title='A "report" <of> & on',
        command="headstart bench report results/ --format html && echo '<done>'",
        settings={"scale<": "oracle & more"},
        machine="a machine",
        versions={"numpy": "2"},
        warnings=("GP: <3> runs & more",),
        at=at,
        resampling=RESAMPLING,
    )


class Page(HTMLParser):
    """What a browser would make of a page: its tags, the text it shows, and the contents of scripts and styles."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag in ("script", "style") and self.cdata_elem == tag:
            self.raw.append((tag, attributes, data))
        else:
            self.text.append(data)

    @property
    def figures(self) -> list[dict]:
        parts = [text for _, attributes, text in self.raw if attributes.get("id") == "figures"]
        return json.loads("".join(parts), parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    (file,) = write(report(), "html", tmp_path_factory.mktemp("page") / "deep" / "report.html").files
    return file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source: str) -> Page:
    return Page(source)


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_asks_the_network_for_nothing(page: Page) -> None:
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), f"{tag} {name}"
        assert tag not in ("iframe", "object", "embed", "base")
    styles = "".join(text for tag, _, text in page.raw if tag == "style")
    assert styles
    assert "url(" not in styles
    assert "@import" not in styles
    own = [text for tag, attributes, text in page.raw if tag == "script" and "Plotly.newPlot(element" in text]
    assert own
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(", own[-1])
    assert sum(len(text) for tag, _, text in page.raw if tag == "script") > 1_000_000  # Plotly is inside


def test_names_from_outside_are_text_and_nothing_else(page: Page) -> None:
    assert not any(tag in ("b", "i") for tag, _ in page.tags)
    text = "".join(page.text)
    for part in (NASTY, "<i>rf</i>", 'A "report" <of> & on', "GP: <3> runs & more", "scale<", "oracle & more"):
        assert part in text
    assert "headstart bench report results/ --format html && echo '<done>'" in text
    assert len([1 for tag, _ in page.tags if tag == "script"]) == 3  # none was closed before its time


def test_the_page_has_every_table_and_says_how_it_was_made(page: Page) -> None:
    text = "".join(page.text)
    found = document(report())
    names = [table.name for table in all_tables(found)]
    assert names == [
        "overview",
        "critical-6",
        "critical-12",
        "win-tie-loss-12",
        "per-space-6",
        "per-space-12",
        "average-rank",
        "area",
        "trials-to-reach",
        "equals-random",
        "calibration",
        "cost",
    ]
    for table in all_tables(found):
        assert table.title in text
        assert table.note in text
    assert sum(tag == "table" for tag, _ in page.tags) == len(names)
    for part in ("a machine", "numpy", found.sentence, "Intervals: 95 %"):
        assert part in text


def test_every_figure_has_its_place_and_every_curve_its_method(page: Page) -> None:
    places = [attributes.get("id") for tag, attributes in page.tags if attributes.get("class") == "plot"]
    assert [figure["id"] for figure in page.figures] == places
    assert len(places) == 2 + 2 + 2 + 2  # regret, rank; two diagrams; two spaces; calibration and cost
    regret = page.figures[0]
    curves = {trace["name"]: trace for trace in regret["data"] if "name" in trace}
    assert set(curves) == {"random", "gp", '&lt;/script&gt;&lt;b&gt;"m" &amp; $x$'}
    assert curves["gp"]["line"]["color"] == "#0072b2"
    assert curves["gp"]["x"] == list(range(13))
    assert regret["layout"]["yaxis"]["type"] == "log"
    assert {label["method"] for label in regret["labels"]} == {0, 1, 2}
    assert any(trace["meta"].get("band") for trace in regret["data"])


def test_every_method_can_be_hidden_by_a_button(page: Page) -> None:
    buttons = {attributes["data-method"] for tag, attributes in page.tags if "data-method" in attributes}
    traced = {str(trace["meta"]["method"]) for figure in page.figures for trace in figure["data"]} - {"-1"}
    assert buttons == traced == {"0", "1", "2"}


def test_the_page_fits_a_phone(page: Page) -> None:
    viewport = [attributes["content"] for tag, attributes in page.tags if attributes.get("name") == "viewport"]
    assert viewport == ["width=device-width, initial-scale=1"]
    boxes = sum(attributes.get("class") == "scroll" for _, attributes in page.tags)
    assert boxes == sum(tag == "table" for tag, _ in page.tags)


def test_without_plotly_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'headstart\[bench\]'"):
        write(report(by_hand(), ()), "html", tmp_path / "report.html")


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_text_is_returned_or_written(form: str, tmp_path: Path) -> None:
    returned = write(report(), form)
    assert returned.files == ()
    written = write(report(), form, tmp_path / "new" / "file")
    assert (written.text, written.files) == ("", (tmp_path / "new" / "file",))
    assert written.files[0].read_text(encoding="utf-8") == returned.text


def test_csv_and_json_hold_the_same_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(write(report(), "csv").text)))
    found = json.loads(write(report(), "json").text)
    assert {row["table"] for row in rows} == set(found["tables"])
    for name, table in found["tables"].items():
        values = [str(number["value"]) for number in table["numbers"]]
        assert values == [row["value"] for row in rows if row["table"] == name]
    assert found["ranked"] == found["methods"]
    assert (found["runs"], found["tasks"], found["trials"], found["at"]) == (12, 6, 12, [6, 12])
    assert found["settings"] == {"scale<": "oracle & more"}
    assert found["bootstrap"] == {"resamples": 50, "seed": 0, "level": 0.95}


def test_markdown_has_the_tables_the_warnings_and_the_command() -> None:
    text = write(report(), "markdown").text
    for part in (
        '# A "report" &lt;of&gt; &amp; on',
        "> GP: &lt;3&gt; runs &amp; more",
        "### Calibration",
        "- numpy: 2",
    ):
        assert part in text
    assert "\n```\nheadstart bench report results/ --format html && echo '<done>'\n```\n" in text
    assert "\n\n\n" not in text


# --- what a report is of ---------------------------------------------------------------------------------------------


def test_the_best_method_is_first_and_one_that_ends_early_last() -> None:
    curves = cut(drawn(["a", "b", "c"]), 0, 4)
    curves.regret[0, :, :5] *= 1e-3
    curves.regret[1, :, -1], curves.regret[2, :, -1] = 0.3, 0.2
    assert report(curves).sorted_curves.methods == ("c", "b", "a")


@pytest.mark.parametrize(("trials", "at"), [(12, (12,)), (25, (25,)), (60, (25, 50)), (100, (25, 50, 100))])
def test_the_usual_trials_are_reported_as_far_as_there_are_so_many(trials: int, at: tuple[int, ...]) -> None:
    assert Report(curves=drawn(["a"], trials=trials, tasks=1)).at == at


@pytest.mark.parametrize("at", [(0, 5), (5, 13), (6, 3), (3, 3)])
def test_trials_that_do_not_exist_are_refused(at: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError, match=r"trials must ascend and lie in 1\.\.12, got \d+, \d+"):
        report(at=at)


def test_results_without_trials_are_refused() -> None:
    with pytest.raises(SettingsError, match="no trials"):
        Report(curves=replace(by_hand(), regret=by_hand().regret[:, :, :1]))


@pytest.mark.parametrize(
    ("curves", "said"),
    [
        (without_predictions(drawn(["random", "gp"])), ("no predictions", "no CPU times")),
        (drawn(["gp"]), ("No ranks", "nothing to compare")),
        (drawn(["gp"], spaces=["svm"], tasks=1, seeds=1, trials=1), ("No intervals", "1 run (")),
        (drawn(["random", "gp"], spaces=["svm"]), ("With one space",)),
        (cut(drawn(["random", "gp", "rf"]), 2, 5), ("Not ranked, as runs end before trial 12: rf",)),
        (cut(cut(drawn(["random", "gp"]), 0, 3), 1, 5), ("No ranks", "nothing to compare")),
    ],
)
def test_what_cannot_be_said_is_left_out_with_a_sentence(curves: Curves, said: tuple[str, ...], tmp_path: Path) -> None:
    found = report(curves, ())
    text = write(found, "markdown").text
    (file,) = write(found, "html", tmp_path / "report.html").files
    shown = "".join(Page(file.read_text(encoding="utf-8")).text)
    for part in said:
        assert part in text
        assert part in shown
    json.loads(write(found, "json").text, parse_constant=pytest.fail)
    assert "nan" not in write(found, "csv").text


def test_two_methods_need_no_test_of_all_methods() -> None:
    text = write(report(drawn(["random", "gp"])), "markdown").text
    assert "### Critical differences after 12 trials" in text
    assert "Friedman" not in text


def test_a_file_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"cannot be written: .* --out"):
        write(report(by_hand(), ()), "csv", tmp_path)


def test_machine_and_versions_name_what_numbers_depend_on() -> None:
    assert "logical cores" in machine()
    assert versions()["numpy"] == np.__version__
    assert "Python" in versions()
