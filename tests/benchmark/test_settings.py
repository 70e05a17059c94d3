"""Settings of runs, and random numbers that come from names."""

import numpy as np
import pytest

from benchmark.small import suite
from headstart.benchmark.settings import RunSettings, named_rng, named_seed, usual_settings
from headstart.errors import SettingsError


def test_a_seed_depends_on_all_names_and_on_where_one_ends() -> None:
    assert named_seed("a", "b") == named_seed("a", "b")
    seeds = [named_seed(*names) for names in (("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""), ("a", "c"))]
    assert len(set(seeds)) == len(seeds)
    assert named_seed("trial", 1) == named_seed("trial", "1")
    assert named_rng("a", 1).random() == np.random.default_rng(named_seed("a", 1)).random()


def test_a_seed_is_the_same_on_every_machine() -> None:
    # printf 'a\0b' | sha256sum
    assert named_seed("a", "b") == 0x59B271AE1BBCB1D31D41929817F4B16F


def test_words_hold_every_setting() -> None:
    settings = RunSettings(trials=7, past_rows=None, past="negated")
    words = settings.words()
    assert words["trials"] == "7"
    assert words["past"] == "negated"
    assert words["past_rows"] == "None"
    assert set(words) == set(vars(settings))


def test_usual_settings_are_the_suites_unless_changed() -> None:
    assert usual_settings(suite()) == RunSettings(trials=6)
    assert usual_settings(suite(), given=0, scale="honest") == RunSettings(trials=6, given=0, scale="honest")
    assert usual_settings(suite(), given=None, scale=None) == RunSettings(trials=6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trials": 0}, "trials must be a whole number of at least 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number of at least 1, got 2.5"),
        ({"trials": None}, "trials must be a whole number of at least 1, got None"),
        ({"given": -1}, "given must be a whole number of at least 0, got -1"),
        ({"given": True}, "given must be a whole number of at least 0, got True"),
        ({"past_tasks": 0}, "past_tasks must be a whole number of at least 1, got 0"),
        ({"past_rows": 1}, "past_rows must be a whole number of at least 2, got 1"),
        ({"scale": "known"}, "scale must be one of 'oracle', 'honest', got 'known'"),
        ({"past": "false"}, "past must be one of 'true', 'permuted', 'negated', 'least-correlated', got 'false'"),
        ({"tasks": "train"}, "tasks must be one of 'validation', 'test', got 'train'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        RunSettings(**wrong)  # type: ignore[arg-type]
    assert str(caught.value) == f"Benchmark: {message}."
