import numpy as np
import pytest

from headstart.data import Trial
from headstart.demo.results import Comparison, Run, Step, as_json, seeds_ahead, sentence, trials_to_reach


def runs(errors: list[list[float]], method: str) -> tuple[Run, ...]:
    return tuple(
        Run(seed, method, tuple(Step(Trial(i, {"C": 1.0 + i}), value, 0.5, 0.01) for i, value in enumerate(row)))
        for seed, row in enumerate(errors)
    )


def comparison(with_memory: list[list[float]], without_memory: list[list[float]]) -> Comparison:
    return Comparison(
        task="wine",
        about="wines",
        past=(("iris", 40),),
        with_memory=runs(with_memory, "prior-gp"),
        without_memory=runs(without_memory, "gp"),
        error_of_defaults=0.05,
        new_past_trials=0,
        past_evaluation_seconds=1.0,
        wall_seconds=2.0,
        workers=1,
    )


def test_trials_to_reach_counts_from_one_and_knows_never() -> None:
    curve = np.array([0.5, 0.3, 0.3, 0.1])
    assert [trials_to_reach(curve, target) for target in (0.5, 0.3, 0.29, 0.1, 0.09)] == [1, 2, 4, 4, None]


def test_a_curve_is_the_best_so_far() -> None:
    (run,) = runs([[0.5, 0.7, 0.2, 0.4]], "gp")
    assert run.curve.tolist() == [0.5, 0.5, 0.2, 0.2]


def test_seeds_are_counted_as_better_equal_and_worse() -> None:
    found = comparison([[0.1, 0.1], [0.3, 0.3], [0.4, 0.4]], [[0.2, 0.2], [0.3, 0.3], [0.3, 0.3]])
    assert seeds_ahead(found, 2) == (1, 1, 1)


@pytest.mark.parametrize(
    ("with_memory", "without_memory", "words"),
    [
        (
            [[0.2, 0.1, 0.1], [0.2, 0.1, 0.1]],
            [[0.9, 0.3, 0.1], [0.9, 0.3, 0.1]],
            "The memory helped: with it, 2 trials reached the error of 10.00 % that took 3 trials without it "
            "(mean of 2 seeds; at that point 2 better with it, 0 worse).",
        ),
        (
            # reached earlier on average, but only because of one seed
            [[0.02, 0.02, 0.02], [0.12, 0.12, 0.12], [0.13, 0.13, 0.13]],
            [[0.9, 0.09, 0.09], [0.11, 0.11, 0.11], [0.12, 0.12, 0.12]],
            "The memory made no clear difference: with it, 1 trial reached the error of 10.67 % that took 2 trials "
            "without it (mean of 3 seeds; at that point 1 better with it, 2 worse).",
        ),
        (
            [[0.9, 0.1, 0.05]],
            [[0.8, 0.1, 0.1]],
            "The memory saved no trials: with and without it, 2 trials were needed for an error of 10.00 %; "
            "after 3 trials it was 5.00 % with it (one seed).",
        ),
        (
            [[0.1, 0.1]],
            [[0.1, 0.1]],
            "The memory saved no trials: with and without it, 1 trial were needed for an error of 10.00 %; "
            "after 2 trials both were there (one seed).",
        ),
        (
            [[0.9, 0.5, 0.1]],
            [[0.9, 0.1, 0.1]],
            "The memory did not help: with it, the error of 10.00 % took 3 trials, without it 2 trials; "
            "after 3 trials both were there (one seed).",
        ),
        (
            [[0.9, 0.5, 0.3]],
            [[0.8, 0.4, 0.1]],
            "The memory did not help: after 3 trials the error was 30.00 % with it and 10.00 % without it (one seed).",
        ),
        (
            [[0.2, 0.2, 0.2, 0.2]],
            [[0.8, 0.4, 0.3, 0.1]],
            "The memory did not help in the end. It was ahead after 1 and 3 trials, but after 4 trials the error was "
            "20.00 % with it and 10.00 % without it (one seed).",
        ),
    ],
)
def test_the_sentence_says_what_the_numbers_say(
    with_memory: list[list[float]], without_memory: list[list[float]], words: str
) -> None:
    assert sentence(comparison(with_memory, without_memory)) == words.replace("1 trial were", "1 trial was")


def test_the_end_is_always_a_checkpoint() -> None:
    assert comparison([[0.1] * 20], [[0.1] * 20]).checkpoints == [1, 3, 5, 10, 20]
    assert comparison([[0.1] * 7], [[0.1] * 7]).checkpoints == [1, 3, 5, 7]
    assert comparison([[0.1]], [[0.1]]).checkpoints == [1]


def test_plain_data_has_means_over_seeds_and_the_best_configuration() -> None:
    plain = as_json(comparison([[0.4, 0.2], [0.2, 0.4]], [[0.5, 0.3], [0.5, 0.5]]))
    assert plain["with_memory"]["mean_best_error"] == pytest.approx({"1": 0.3, "2": 0.2})
    assert plain["without_memory"]["mean_best_error"] == pytest.approx({"1": 0.5, "2": 0.4})
    assert plain["with_memory"]["trials_to_reach_the_end_without_memory"] == 1
    assert [run["best_config"] for run in plain["with_memory"]["runs"]] == [{"C": 2.0}, {"C": 1.0}]
    assert plain["seconds"] == {"wall": 2.0, "evaluation": 1.0 + 8 * 0.5}
