"""The runner: resumable, the same numbers however it is done, and nothing mixed."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.small import numbers, source, suite
from headstart.benchmark import store
from headstart.benchmark.methods import Method, chosen
from headstart.benchmark.runner import Job, SuiteSource, is_done, run
from headstart.benchmark.settings import RunSettings
from headstart.benchmark.store import read_results
from headstart.errors import DataError, SettingsError
from headstart.surrogates import GaussianProcess, PriorGP, Random

SETTINGS = RunSettings(trials=6)
QUICK = (
    Method("random", Random(minimum_observations=0)),
    Method("gp", GaussianProcess(restarts=0)),
    Method("prior-gp", PriorGP(trees=5, source="forest", gate=None)),
)


class Heard:
    """Notes what a listener hears."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.spaces: list[str] = []

    def begin(self, kind: str, total: int) -> None:
        self.totals[kind] = self.totals.get(kind, 0) + total

    def step(self, kind: str) -> None:
        self.steps[kind] = self.steps.get(kind, 0) + 1

    def space_done(self, space: str) -> None:
        self.spaces.append(space)

    def stopping(self) -> None:
        self.spaces.append("stopping")


def test_all_runs_are_there_and_none_is_repeated(tmp_path: Path) -> None:
    heard = Heard()
    run(source(), QUICK, SETTINGS, tmp_path, seeds=2, listener=heard)
    assert heard.totals == {"run": 24, "pre-training": 2}
    assert heard.steps == heard.totals
    assert heard.spaces == ["plain", "other & <odd>"]
    curves = read_results(tmp_path).curves()
    assert sorted(curves.methods) == ["gp", "prior-gp", "random"]
    assert curves.regret.shape == (3, 8, 7)
    assert {run.task for run in curves.runs} == {"first", "second/../.."}
    before = numbers(tmp_path)
    again = Heard()
    run(source(), QUICK, SETTINGS, tmp_path, seeds=2, listener=again)
    assert again.steps == {}
    assert numbers(tmp_path) == before


def test_what_else_is_run_changes_nothing(tmp_path: Path) -> None:
    run(source(), QUICK, SETTINGS, tmp_path / "all", seeds=2)
    run(source(), QUICK[1:2], SETTINGS, tmp_path / "one", seeds=1, spaces=["other & <odd>"])
    everything, one = read_results(tmp_path / "all").runs["gp"], read_results(tmp_path / "one").runs["gp"]
    assert len(one) == 2
    for key, measures in one.items():
        for name in ("regret", "value", "mean", "std"):
            assert np.array_equal(measures[name], everything[key][name], equal_nan=True)


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    for jobs in (1, 2):
        run(source(), QUICK, SETTINGS, tmp_path / str(jobs), seeds=2, jobs=jobs)
    assert numbers(tmp_path / "1") == numbers(tmp_path / "2")


def test_a_past_of_ones_own_is_learned_for_every_target(tmp_path: Path) -> None:
    spaces = tuple(replace(space, leave_one_out=True, train=()) for space in suite().spaces)
    leaving = SuiteSource("small", suite=replace(suite(), spaces=spaces))
    heard = Heard()
    run(leaving, QUICK[2:], SETTINGS, tmp_path, seeds=1, listener=heard)
    assert "pre-training" not in heard.totals
    assert not (tmp_path / "pretrained").exists()
    assert len(read_results(tmp_path).runs["prior-gp"]) == 4


def test_what_was_learned_is_kept_and_read_again(tmp_path: Path) -> None:
    run(source(), QUICK[2:], SETTINGS, tmp_path, seeds=1)
    kept = sorted((tmp_path / "pretrained").rglob("*.safetensors"))
    assert len(kept) == 2
    before = [file.read_bytes() for file in kept]
    run(source(), QUICK[2:], SETTINGS, tmp_path, seeds=2)
    assert [file.read_bytes() for file in kept] == before
    # and the numbers are those of a folder that learned everything in one go
    run(source(), QUICK[2:], SETTINGS, tmp_path / "again", seeds=2)
    assert numbers(tmp_path) == numbers(tmp_path / "again")


def test_other_settings_or_data_are_not_mixed(tmp_path: Path) -> None:
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    with pytest.raises(SettingsError, match=r"holds results with trials=6 instead of 7\. Name another folder"):
        run(source(), QUICK[:1], replace(SETTINGS, trials=7), tmp_path, seeds=1)
    with pytest.raises(SettingsError, match="holds results with other data"):
        run(source("changed"), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    with pytest.raises(SettingsError, match="other settings of the method"):
        run(source(), [Method("random", Random(minimum_observations=1))], SETTINGS, tmp_path, seeds=1)


def test_another_version_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=1)
    before = numbers(tmp_path)
    monkeypatch.setattr(store, "library_version", lambda: "9.9.9+abc")
    with pytest.raises(SettingsError, match=r"made with headstart 0.*instead of 9\.9\.9\+abc\. Add --on-change"):
        run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=1)
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2, on_change="keep")
    assert len(read_results(tmp_path).versions) == 2
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2, on_change="redo")
    assert read_results(tmp_path).versions == ("9.9.9+abc",)
    assert numbers(tmp_path) != before  # the stamp says who made it


def test_a_misleading_past_is_another_table(tmp_path: Path) -> None:
    for past in ("true", "negated", "permuted", "least-correlated"):
        run(source(), QUICK[2:], replace(SETTINGS, past=past), tmp_path / past, seeds=1)
    tables = {past: numbers(tmp_path / past) for past in ("true", "negated", "permuted", "least-correlated")}
    assert len(set(tables.values())) == 4
    regret = {past: read_results(tmp_path / past).curves().regret[0, :, 1].mean() for past in tables}
    assert regret["true"] < regret["negated"]


def test_a_wrong_suite_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    bare = tuple(
        replace(space, test=tuple(replace(problem, objective=None) for problem in space.test))
        for space in suite().spaces
    )
    without = SuiteSource("small", suite=replace(suite(), spaces=bare))
    with pytest.raises(SettingsError, match=r"task 'first' has no function behind its pool.*--surrogates"):
        run(without, QUICK[:1], replace(SETTINGS, continuous=True), tmp_path)
    with pytest.raises(SettingsError, match=r"there is no space 'nowhere'\. The spaces are plain"):
        run(source(), QUICK[:1], SETTINGS, tmp_path, spaces=["nowhere"])
    empty = tuple(replace(space, validation=()) for space in suite().spaces)
    with pytest.raises(SettingsError, match="has no validation tasks"):
        run(
            SuiteSource("small", suite=replace(suite(), spaces=empty)),
            QUICK[:1],
            replace(SETTINGS, tasks="validation"),
            tmp_path,
        )
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_run_keeps_what_is_finished(tmp_path: Path) -> None:
    class Impatient(Heard):
        def step(self, kind: str) -> None:
            super().step(kind)
            if self.steps.get("run") == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2, listener=Impatient())
    assert sum(len(runs) for runs in read_results(tmp_path).runs.values()) == 5
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2)
    run(source(), QUICK[:2], SETTINGS, tmp_path / "whole", seeds=2)
    assert numbers(tmp_path) == numbers(tmp_path / "whole")


def test_several_processes_are_asked_to_stop_and_nothing_is_lost(tmp_path: Path) -> None:
    class Impatient(Heard):
        def step(self, kind: str) -> None:
            super().step(kind)
            if self.steps.get("run") == 3:
                raise KeyboardInterrupt

    heard = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2, jobs=2, listener=heard)
    assert heard.spaces[-1] == "stopping"
    assert 3 <= sum(len(runs) for runs in read_results(tmp_path).runs.values()) < 16
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=2)
    run(source(), QUICK[:2], SETTINGS, tmp_path / "whole", seeds=2)
    assert numbers(tmp_path) == numbers(tmp_path / "whole")


def test_every_step_of_several_processes_is_heard(tmp_path: Path) -> None:
    heard = Heard()
    run(source(), QUICK, SETTINGS, tmp_path, seeds=2, jobs=2, listener=heard)
    assert heard.steps == heard.totals == {"run": 24, "pre-training": 2}


def test_an_error_is_not_hidden_by_another_one(tmp_path: Path) -> None:
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    broken = sorted((tmp_path / "runs" / "random").rglob("*.parquet"))[-1]  # the first one is looked at anyway
    broken.write_bytes(b"no Parquet")

    class Impatient(Heard):
        def step(self, kind: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # and not that a run of another method cannot be read
        run(source(), QUICK[1:2], SETTINGS, tmp_path, seeds=1, spaces=["plain"], listener=Impatient())


def test_spaces_whose_names_have_dots_learn_each_for_itself(tmp_path: Path) -> None:
    small = suite()
    names = dict(zip([space.name for space in small.spaces], ["a.1", "a.2"], strict=True))
    spaces = tuple(
        replace(
            space,
            name=names[space.name],
            test=tuple(replace(task, space=names[space.name]) for task in space.test),
            train=tuple(replace(task, y=task.y * (1 if names[space.name] == "a.1" else -1)) for task in space.train),
        )
        for space in small.spaces
    )
    dotted = SuiteSource("dotted", suite=replace(small, spaces=spaces))
    run(dotted, QUICK[2:], SETTINGS, tmp_path / "both", seeds=1)
    kept = sorted(file.name for file in (tmp_path / "both" / "pretrained").rglob("*.safetensors"))
    assert kept == ["a.1.surrogate.safetensors", "a.2.surrogate.safetensors"]
    run(dotted, QUICK[2:], SETTINGS, tmp_path / "one", seeds=1, spaces=["a.2"])
    both, one = (read_results(tmp_path / name).runs["prior-gp"] for name in ("both", "one"))
    assert one
    for key, measures in one.items():
        assert np.array_equal(measures["mean"], both[key]["mean"], equal_nan=True)


def test_data_or_code_that_change_meanwhile_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = store.stamp_of(suite(), SETTINGS, QUICK[1])
    job = Job(source("grown"), SETTINGS, QUICK[1], "plain", "first", ("test0",), tmp_path, stamp)
    with pytest.raises(DataError, match="Suite 'small': its data changed while runs were made"):
        list(job.records())
    monkeypatch.setattr(store, "library_version", lambda: "9.9.9+abc")
    with pytest.raises(DataError, match=r"headstart changed from .* to 9\.9\.9\+abc while runs were made"):
        list(replace(job, source=source()).records())


def test_a_damaged_file_of_what_was_learned_is_made_anew(tmp_path: Path) -> None:
    run(source(), QUICK[2:], SETTINGS, tmp_path, seeds=1)
    before = numbers(tmp_path)
    (kept, *_) = sorted((tmp_path / "pretrained").rglob("*.safetensors"))
    content = kept.read_bytes()
    kept.write_bytes(content[:100])
    for file in (tmp_path / "runs").rglob("*.parquet"):
        file.unlink()
    (tmp_path / "results.parquet").unlink()
    run(source(), QUICK[2:], SETTINGS, tmp_path, seeds=1)
    assert numbers(tmp_path) == before
    assert kept.read_bytes() == content


def test_nothing_is_described_anew_where_nothing_is_run(tmp_path: Path) -> None:
    run(source(), QUICK[:2], SETTINGS, tmp_path, seeds=1)
    (tmp_path / "about.json").unlink()
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    assert not (tmp_path / "about.json").exists()


def test_runs_of_other_settings_are_no_answer_whatever_is_wanted(tmp_path: Path) -> None:
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    file = next((tmp_path / "runs").rglob("*.parquet"))
    for stamp in (
        store.stamp_of(suite("changed"), SETTINGS, QUICK[0]),
        store.stamp_of(suite(), replace(SETTINGS, trials=7), QUICK[0]),
    ):
        for on_change in ("refuse", "keep", "redo"):
            with pytest.raises(SettingsError, match=r"was made with .*\. Name another folder with --out\.$"):
                is_done(file, stamp, on_change, tmp_path)  # type: ignore[arg-type]


def test_a_command_that_names_nothing_or_the_same_twice(tmp_path: Path) -> None:
    for methods, spaces in (((), None), (QUICK[:1], [])):
        with pytest.raises(SettingsError, match="name at least one method and one space"):
            run(source(), methods, SETTINGS, tmp_path, spaces=spaces)
    with pytest.raises(SettingsError, match="a space is named twice in plain, plain"):
        run(source(), QUICK[:1], SETTINGS, tmp_path, spaces=["plain", "plain"])


def test_an_unreadable_run_is_named(tmp_path: Path) -> None:
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    file = next((tmp_path / "runs").rglob("*.parquet"))
    file.write_bytes(b"no Parquet")
    with pytest.raises(DataError, match=r"test0\.parquet: is no run of headstart\. Remove it"):
        run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    with pytest.raises(DataError, match="there are no results"):
        read_results(tmp_path / "nowhere")


PROGRAM = """
from benchmark.small import source
from pathlib import Path
import sys
from headstart.benchmark.runner import run
from headstart.benchmark.settings import RunSettings
from headstart.benchmark.methods import Method
from headstart.surrogates import GaussianProcess, PriorGP
if __name__ == "__main__":
    past = PriorGP(trees=5, source="forest", gate=None)
    methods = (Method("gp", GaussianProcess(restarts=0)), Method("prior-gp", past))
    run(source(), methods, RunSettings(trials=6), Path(sys.argv[1]), seeds=12, jobs=int(sys.argv[2]))
"""


@pytest.mark.slow
def test_twenty_sigkills_and_a_resume_leave_the_same_file(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    out = tmp_path / "killed"
    command = [sys.executable, str(program), str(out), "1"]
    kills = 0
    rng = np.random.default_rng(0)
    while kills < 20:
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        before = len(list(out.rglob("*.parquet")))
        deadline = time.monotonic() + 60
        # killed at a random moment after it has begun to write, or while it starts
        while time.monotonic() < deadline and process.poll() is None and kills % 2:
            if len(list(out.rglob("*.parquet"))) > before:
                break
            time.sleep(0.005)
        time.sleep(float(rng.uniform(0.0, 0.05)))
        if process.poll() is not None:
            break  # it was quicker than twenty kills: fewer were possible
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills == 20
    subprocess.run(command, env=environment, check=True)
    whole = tmp_path / "whole"
    subprocess.run([sys.executable, str(program), str(whole), "2"], env=environment, check=True)
    assert numbers(out) == numbers(whole)
    assert len(read_results(out).runs["gp"]) == 48


def test_passwords_stay_out_of_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["headstart", "bench", "run", "--suite", "postgresql://me:secret@host/runs"])
    run(source(), QUICK[:1], SETTINGS, tmp_path, seeds=1)
    about = (tmp_path / "about.json").read_text()
    assert "postgresql://me:***@host/runs" in about
    assert "secret" not in about


def test_a_job_pickles() -> None:
    import pickle

    stamp = store.stamp_of(suite(), SETTINGS, QUICK[1])
    job = Job(source(), SETTINGS, QUICK[1], "plain", "first", ("test0",), Path("out"), stamp)
    records = [record.regret for _, record in pickle.loads(pickle.dumps(job)).records()]
    assert np.array_equal(records, [record.regret for _, record in job.records()])


def test_all_listed_methods_can_be_chosen() -> None:
    assert [method.name for method in chosen(["random", "prior-gp"], SETTINGS)] == ["random", "prior-gp"]
