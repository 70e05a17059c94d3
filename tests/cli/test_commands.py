"""What the commands do and print, in this process: quick. test_processes.py runs them as users do."""

import json
from pathlib import Path
from typing import Any

import pytest

from headstart._version import __version__
from headstart.cli.main import run
from headstart.memory import Memory
from headstart.space import Space

SPACE_FILE = """
[parameters.kernel]
type = "categorical"
choices = ["rbf", "poly"]

[parameters.C]
type = "float"
low = 0.001
high = 1000.0
log = true

[parameters.degree]
type = "int"
low = 2
high = 5
when = { kernel = ["poly"] }
"""


class Said:
    """What a command line did: its exit code, output and complaints."""

    def __init__(self, captured: pytest.CaptureFixture[str], *arguments: str) -> None:
        captured.readouterr()
        self.code = run(arguments)
        self.out, self.err = captured.readouterr()

    @property
    def json(self) -> Any:
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)


@pytest.fixture
def space_file(folder: Path) -> str:
    (folder / "space.toml").write_text(SPACE_FILE)
    return "space.toml"


# ---- help and usage


COMMANDS = [
    ("demo",),
    ("suggest",),
    ("tell",),
    ("best",),
    ("explain",),
    ("memory", "list"),
    ("memory", "show"),
    ("memory", "delete"),
    ("memory", "check"),
    ("space", "check"),
    ("space", "show"),
]


@pytest.mark.parametrize("command", [(), ("memory",), ("space",), *COMMANDS], ids=" ".join)
def test_every_help_has_an_example(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, *command, "--help")
    assert (said.code, said.err) == (0, "")
    assert f"    headstart {' '.join(command)}" in said.out.partition("Example")[2]


@pytest.mark.parametrize("command", [(), ("memory",), ("space",)])
def test_a_group_alone_prints_its_help(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, *command).out == Said(capsys, *command, "--help").out


def test_help_lists_every_command_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert "..." not in Said(capsys, "--help").out.partition("Commands:")[2]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, "--version").out == f"headstart {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("guess",), "No such command 'guess'"),
        (("memory", "lst"), "Did you mean 'list'?"),
        (("suggest",), "Missing option '--task'"),
        (("suggest", "--task", "a", "--nonsense"), "No such option: --nonsense"),
        (("suggest", "--task", "a", "-n", "0"), "'--count'"),
        (("suggest", "--task", "a", "--direction", "up"), "'--direction'"),
        (("tell", "--task", "fast", "x", "1"), "NUMBER"),
        (("tell", "--task", "fast", "4", "good"), "VALUE must be a number, got 'good'"),
        (("tell", "--task", "fast", "4"), "give either a VALUE or --failed"),
        (("tell", "--task", "fast", "4", "1", "--failed"), "give either a VALUE or --failed"),
        (("tell", "--task", "fast", "4", "1", "--metadata", "{a: 1}"), "--metadata must be JSON, got '{a: 1}'"),
        (("tell", "--task", "fast", "4", "1", "--metadata", "[1]"), "must be a JSON object"),
        (("tell", "--task", "fast", "4", "1", "--metadata", '{"a": NaN}'), "NaN is no JSON"),
        (("tell", "--task", "fast", "4", "1", "--duration", "-1"), "'--duration'"),
        (("space", "show"), "give either a FILE or --task"),
        (("space", "check"), "Missing argument 'FILE'"),
        (("demo", "--out", "nowhere"), "--out nowhere is no folder"),
        (("memory", "delete", "fast", "--memory", "runs.db"), "Add --yes"),
    ],
)
def test_usage_errors_are_one_line_and_code_2(
    memory: str, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(capsys, *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("Error: ")
    assert words in said.err
    assert said.err.endswith("--help'.\n")


# ---- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("best", "--task", "fsat", "--memory", "runs.db"),
            "no task 'fsat' in this memory. The closest names",
        ),
        (("best", "--task", "empty", "--memory", "runs.db"), "'empty' has no best trial yet"),
        (("explain", "--task", "empty", "--memory", "runs.db"), "has no trials yet"),
        (("explain", "--task", "fast", "9", "--memory", "runs.db"), "trial 9"),
        (("tell", "--task", "fast", "9", "1", "--memory", "runs.db"), "trial 9"),
        (("tell", "--task", "fast", "1", "1", "--memory", "runs.db"), "told before"),
        (("suggest", "--task", "new", "--memory", "runs.db"), "Add --space FILE to begin it"),
        (("suggest", "--task", "fast", "--direction", "minimize", "--memory", "runs.db"), "direction maximize"),
        (("suggest", "--task", "fast", "--method", "gpp", "--memory", "runs.db"), "no surrogate named 'gpp'"),
        (("suggest", "--task", "fast", "--space", "space.json", "--memory", "runs.db"), "space.json cannot be read"),
        (("memory", "list", "--memory", "other.db"), "other.db is not there"),
        (("memory", "list", "--memory", "."), "is a folder"),
        (("memory", "list", "--memory", "text.db"), "is not a memory"),
        (("memory", "show", "slow", "--memory", "runs.db"), "no task 'slow'"),
        (("memory", "delete", "slow", "--yes", "--memory", "runs.db"), "no task 'slow'"),
        (("space", "check", "bad.toml"), "low must be smaller than high"),
        (("space", "check", "text.db"), "ends in .toml or .json"),
        (("space", "show", "broken.json"), "is not valid JSON"),
        (("demo", "--task", "titanic"), "no task 'titanic'"),
    ],
)
def test_errors_are_one_line_and_code_1(
    memory: str, folder: Path, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "text.db").write_text("no database at all, but long enough to have a header of one hundred bytes" * 9)
    (folder / "bad.toml").write_text('[parameters.lr]\ntype = "float"\nlow = 2.0\nhigh = 1.0\n')
    (folder / "broken.json").write_text("{")
    said = Said(capsys, *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert said.err.startswith("Error: ")
    assert words in said.err


def test_reads_make_no_memory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ("memory", "list"),
        ("memory", "check"),
        ("memory", "show", "a"),
        ("best", "--task", "a"),
        ("explain", "--task", "a"),
        ("suggest", "--task", "a"),
        ("tell", "--task", "a", "0", "1"),
        ("space", "show", "--task", "a"),
    ):
        assert Said(capsys, *arguments).code == 1
    assert list(folder.iterdir()) == []


def test_debug_shows_the_traceback_and_then_the_line(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "best", "--task", "slow", "--memory", memory, "--debug")
    assert said.code == 1
    assert said.err.startswith("Traceback (most recent call last)")
    assert said.err.splitlines()[-1].startswith("Error: There is no task 'slow'")


@pytest.mark.parametrize("debug", [True, False])
def test_a_defect_says_how_to_report_it(
    debug: bool, memory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(Memory, "tasks", broken)
    said = Said(capsys, "memory", "list", "--memory", memory, *(["--debug"] if debug else []))
    assert (said.code, said.out) == (70, "")
    assert ("Traceback" in said.err) == debug
    assert "defect of headstart" in said.err
    if not debug:
        assert said.err.count("\n") == 1
        assert "ZeroDivisionError: by zero" in said.err
        assert "--debug" in said.err


def test_ctrl_c_is_a_line_and_code_130(
    memory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "tasks", interrupted)
    said = Said(capsys, "memory", "list", "--memory", memory)
    assert (said.code, said.out, said.err) == (130, "", "Error: interrupted.\n")


# ---- ask and tell


def test_a_task_from_beginning_to_end(space_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    begun = ("--task", "churn", "--memory", "new.db")
    options = ("--space", space_file, "--direction", "maximize", "--metric", "auc", "--seed", "5")
    first = Said(capsys, "suggest", *begun, *options, "--json").json
    assert first["number"] == 0
    assert Space.load(space_file).contains(first["config"])
    batch = Said(capsys, "suggest", *begun, "-n", "2", "--json")
    assert [json.loads(line)["number"] for line in batch.out.splitlines()] == [1, 2]
    for arguments in (("0", "-0.5"), ("1", "nan"), ("2", "0.25", "--duration", "2.5", "--metadata", '{"host": "a"}')):
        told = Said(capsys, "tell", *begun, *arguments)
        assert (told.code, told.out, told.err) == (0, "", "")
    best = Said(capsys, "best", *begun, "--json").json
    assert best["value"] == 0.25
    assert (best["number"], best["duration"], best["metadata"]) == (2, 2.5, {"host": "a"})
    assert (best["direction"], best["metric"]) == ("maximize", "auc")
    shown = Said(capsys, "memory", "show", "churn", "--memory", "new.db", "--json").json
    assert [one["state"] for one in shown["observations"]] == ["complete", "failed", "complete"]
    assert [one["value"] for one in shown["observations"]] == [-0.5, None, 0.25]
    assert shown["seed"] == 5


def test_the_same_seed_asks_the_same(space_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    configs = [
        Said(capsys, "suggest", "--task", "a", "--memory", name, "--space", space_file, "--seed", seed, "--json").json
        for name, seed in (("1.db", "7"), ("2.db", "7"), ("3.db", "8"))
    ]
    assert configs[0] == configs[1]
    assert configs[0] != configs[2]


def test_suggest_prints_number_and_configuration_for_people(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "suggest", "--task", "fast", "--memory", memory)
    assert said.code == 0
    (line,) = said.out.splitlines()
    number, *words = line.split()
    with Memory(memory, create=False) as opened:
        (running,) = (one for one in opened.observations("fast") if one.number == int(number))
    assert number == "5"
    assert words == [f"{name}={value}" for name, value in running.config.items()]


def test_best_for_people(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "best", "--task", "fast", "--memory", memory)
    assert said.out.splitlines() == [
        "value     0.75 (accuracy, maximize)",
        "trial     1 of 5",
        "config    kernel=rbf  C=7.5",
        "one more  no forecast yet",
    ]


def test_explain_names_the_latest_trial_unless_told_otherwise(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, "explain", "--task", "fast", "--memory", memory, "--json").json["number"] == 4
    plain = Said(capsys, "explain", "--task", "fast", "0", "--memory", memory, "--json").json
    assert set(plain) == {"task", "number", "summary", "weights", "numbers"}
    assert plain["number"] == 0
    assert plain["summary"]
    said = Said(capsys, "explain", "--task", "fast", "0", "--memory", memory)
    assert said.out.splitlines() == ["Trial 0: kernel=rbf  C=2.5", plain["summary"]]


# ---- the memory


def test_memory_list(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    fast, empty = Said(capsys, "memory", "list", "--memory", memory, "--json").json
    assert (fast["task"], fast["best"], fast["direction"], fast["metric"]) == ("fast", 0.75, "maximize", "accuracy")
    assert fast["trials"] == {"complete": 3, "failed": 1, "running": 1, "abandoned": 0, "total": 5}
    assert fast["metadata"] == {"who": "me"}
    assert (empty["task"], empty["best"], empty["trials"]["total"]) == ("empty", None, 0)
    lines = Said(capsys, "memory", "list", "--memory", memory).out.splitlines()
    columns = "task complete failed running best metric direction source changed space"
    assert lines[0].split() == columns.split()
    assert lines[2].split()[:8] == ["fast", "3", "1", "1", "0.75", "accuracy", "maximize", "headstart"]
    assert lines[-1] == "2 tasks, 5 trials"


def test_a_narrow_terminal_drops_columns_but_no_task(
    memory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = Said(capsys, "memory", "list", "--memory", memory).out.splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[2].split()[:3] == ["fast", "3", "0.75"]


def test_names_with_brackets_are_shown_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory("odd.db") as opened:
        opened.create_task(
            "[bold]a[/] :smile: ü", Space.from_dict({"parameters": {"x": {"type": "constant", "value": 1}}})
        )
    assert "[bold]a[/] :smile: ü" in Said(capsys, "memory", "list", "--memory", "odd.db").out
    assert "[bold]a[/] :smile: ü" in Said(capsys, "memory", "show", "[bold]a[/] :smile: ü", "--memory", "odd.db").out


def test_memory_show_has_the_space_and_the_best_trials(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = Said(capsys, "memory", "show", "fast", "--memory", memory, "--trials", "2").out
    assert "3 complete, 1 failed, 1 running, 0 abandoned" in out
    assert "kernel is poly" in out
    assert [line.split()[:2] for line in out.splitlines()[-2:]] == [["1", "0.75"], ["2", "0.5"]]


def test_memory_delete(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "memory", "delete", "fast", "--memory", memory, "--yes")
    assert said.out == "Deleted task 'fast' with 5 trials.\n"
    with Memory(memory, create=False) as opened:
        assert [record.name for record in opened.tasks()] == ["empty"]


@pytest.mark.parametrize(("answer", "left"), [("y\n", ["empty"]), ("n\n", ["fast", "empty"])])
def test_memory_delete_asks(
    answer: str, left: list[str], memory: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from io import StringIO

    terminal = StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    said = Said(capsys, "memory", "delete", "fast", "--memory", memory)
    assert said.code == (0 if left == ["empty"] else 1)
    assert "Delete task 'fast' with 5 trials from runs.db?" in said.err + said.out
    with Memory(memory, create=False) as opened:
        assert [record.name for record in opened.tasks()] == left


def test_memory_check(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Said(capsys, "memory", "check", "--memory", memory).out == "ok: 2 tasks, 5 trials\n"
    assert Said(capsys, "memory", "check", "--memory", memory, "--json").json == {"ok": True, "problems": []}


def test_memory_check_finds_damage(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    connection = sqlite3.connect(memory)
    connection.execute('UPDATE trials SET config = \'{"kernel": "none"}\' WHERE number = 1')
    connection.commit()
    connection.close()
    said = Said(capsys, "memory", "check", "--memory", memory)
    assert said.code == 1
    assert "Task 'fast', trial 1" in said.out
    assert said.err == "1 problem in runs.db.\n"
    plain = Said(capsys, "memory", "check", "--memory", memory, "--json")
    assert plain.code == 1
    assert json.loads(plain.out)["ok"] is False


# ---- Spaces


def test_space_check(space_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = Said(capsys, "space", "check", space_file).out
    fingerprint = Space.load(space_file).fingerprint
    assert out == f"ok: 3 parameters, 1 of them conditional, no end of configurations, fingerprint {fingerprint[:8]}\n"
    plain = Said(capsys, "space", "check", space_file, "--json").json
    assert (plain["ok"], plain["configurations"], plain["fingerprint"]) == (True, None, fingerprint)
    assert Space.from_dict({"parameters": plain["parameters"]}) == Space.load(space_file)


def test_space_show(space_file: str, memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    from_file = Said(capsys, "space", "show", space_file).out.splitlines()
    assert from_file[0].split() == ["parameter", "type", "values", "default", "applies", "where"]
    assert from_file[4].split() == ["degree", "int", "2", "to", "5", "kernel", "is", "poly"]
    of_task = Said(capsys, "space", "show", "--memory", memory, "--task", "fast").out
    assert "1.0" in of_task.splitlines()[3].split()  # the default of C
    toml = Said(capsys, "space", "show", "--memory", memory, "--task", "fast", "--toml").out
    Path("again.toml").write_text(toml)
    with Memory(memory, create=False) as opened:
        assert Space.load("again.toml") == opened.task("fast").space
