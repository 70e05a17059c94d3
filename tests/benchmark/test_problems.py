"""Problems, their Spaces and Suites; what is wrong with a problem is said in one line."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmark import small
from headstart.benchmark.problems import Problem, Suite, SuiteSpace, checked_problem, with_held_out
from headstart.encoding import Columns
from headstart.errors import DataError, SettingsError

X = np.array([[0.0, 0.5], [1.0, 0.25], [0.3, 0.7]])
Y = np.array([3.0, -1.0, 2.0])
NAN, INFINITY = float("nan"), float("inf")


def problem(name: str, **changes: Any) -> Problem:
    return replace(Problem("svm", name, X, Y), **changes)


@pytest.fixture
def space() -> SuiteSpace:
    train, validation = (problem("a"), problem("b")), (problem("c"), problem("d"))
    return SuiteSpace("svm", Columns.numeric(2), train, validation, (problem("e"), problem("f"), problem("g")))


def names(problems: tuple[Problem, ...]) -> str:
    return "".join(task.name for task in problems)


def test_bounds_are_those_of_the_pool() -> None:
    assert problem("a").bounds == (-1.0, 3.0)
    assert problem("a", y=np.full(3, 0.5), past_rows=np.array([0])).bounds == (0.5, 0.5)


def test_the_past_of_a_target_is_the_training_part(space: SuiteSpace) -> None:
    assert (names(space.targets("test")), names(space.targets("validation"))) == ("efg", "cd")
    for split in ("test", "validation"):
        for target in space.targets(split):
            assert names(space.past_of(target, split)) == "ab"


def test_where_one_is_left_out_the_others_of_the_split_are_past_too(space: SuiteSpace) -> None:
    space = replace(space, leave_one_out=True)
    assert [names(space.past_of(target, "test")) for target in space.test] == ["abfg", "abeg", "abef"]
    assert [names(space.past_of(target, "validation")) for target in space.validation] == ["abd", "abc"]


def test_spaces_are_found_by_name(space: SuiteSpace) -> None:
    suite = Suite("toy", (space, replace(space, name="tree")), "f")
    assert suite.space("svm") is space
    with pytest.raises(SettingsError, match=r"Suite 'toy': there is no space 'svn'\. The spaces are svm, tree\."):
        suite.space("svn")


def test_a_good_problem_is_returned_as_it_is() -> None:
    for good in (
        problem("a"),
        problem("a", given={"test0": (0, 2), "test1": ()}),
        problem("a", y=np.zeros(3)),
        problem("Zürich 3"),
        problem("a", x=np.zeros((3, 1))),
    ):
        assert checked_problem(good, "file.json") is good


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": X[0]}, r"X must be \[N, d\] and y \[N\], got \(2,\) and \(3,\)"),
        ({"x": X[None]}, r"got \(1, 3, 2\) and \(3,\)"),
        ({"y": Y[:, None]}, r"got \(3, 2\) and \(3, 1\)"),
        ({"y": np.array(1.0)}, r"got \(3, 2\) and \(\)"),
        ({"y": Y[:2]}, r"got \(3, 2\) and \(2,\)"),
        ({"x": X[:0], "y": Y[:0]}, r"there are no configurations, got shape \(0, 2\)"),
        ({"x": X[:, :0]}, r"there are no configurations, got shape \(3, 0\)"),
        ({"x": np.where(X == 0.7, NAN, X)}, "X or y contains NaN or infinity"),
        ({"x": np.where(X == 0.7, INFINITY, X)}, "X or y contains NaN or infinity"),
        ({"y": np.where(Y == 2, NAN, Y)}, "X or y contains NaN or infinity"),
        ({"y": np.where(Y == 2, -INFINITY, Y)}, "X or y contains NaN or infinity"),
        ({"x": X + 0.5}, r"X must lie in \[0, 1\], got values from 0\.5 to 1\.5"),
        ({"x": X - 0.5}, r"X must lie in \[0, 1\], got values from -0\.5 to 0\.5"),
        ({"given": {"test0": (0, 1), "test3": (0, 3)}}, r"initial rows of seed 'test3' must lie below 3, got \[0, 3\]"),
        ({"given": {"test0": (-1,)}}, r"initial rows of seed 'test0' must lie below 3, got \[-1\]"),
    ],
)
def test_what_is_wrong_names_file_space_and_task(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        checked_problem(problem("heart", **changes), "folder/file.json")
    assert str(caught.value).startswith("folder/file.json: space 'svm', task 'heart': ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800", "a\0"])
def test_names_that_cannot_be_shown(name: str) -> None:
    with pytest.raises(DataError, match="has characters that cannot be printed, or none") as caught:
        checked_problem(problem(name), "file.json")
    assert str(caught.value).startswith("file.json: ")
    assert str(caught.value).isprintable()


def test_held_out_tasks_leave_the_past_and_become_validation_tasks() -> None:
    plain = small.suite()
    held = with_held_out(plain, 2)
    for before, after in zip(plain.spaces, held.spaces, strict=True):
        assert after.test == before.test
        moved = [problem for problem in after.validation if problem not in before.validation]
        assert len(moved) == 1  # at most a third of four
        assert {*after.train, *moved} == set(before.train)
        assert len(after.train) == 3
        target = moved[0]
        assert target not in after.past_of(target, "validation")
    assert held.fingerprint != plain.fingerprint
    assert with_held_out(plain, 0) is plain
    again = [[problem.name for problem in space.validation] for space in with_held_out(small.suite(), 2).spaces]
    assert again == [[problem.name for problem in space.validation] for space in held.spaces]
