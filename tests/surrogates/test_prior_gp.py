"""PriorGP from end to end, against a dense textbook Gaussian process and by what it does with good and bad pasts."""

import math
import pickle
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from headstart.data import MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.prior_gp import PriorGP, PriorGPPosterior
from textbook_past import scales_of, written_out

CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def objective(x: NDArray, centre: float = 0.3) -> NDArray:
    return np.exp(-((x - centre) ** 2).sum(axis=1) / 0.1) + 0.1 * x[:, 0]


def past(*, tasks: int = 5, n: int = 40, sign: float = 1.0, drift: float = 0.02, noise: float = 0.05) -> MetaDataset:
    """Return past tasks with nearby optima, in units of their own, and a reference sample."""
    made: list[TaskData] = []
    for t in range(tasks):
        x = rng(100 + t).random((n, 2))
        y = sign * objective(x, 0.3 + drift * t) + noise * rng(200 + t).normal(size=n)
        made.append(TaskData(x, 5.0 * t + (1 + t) * y, name=f"past-{t}"))
    return MetaDataset(tuple(made), reference=rng(1).random((60, 2)))


def target(n: int, *, bounds: bool = False) -> TaskData:
    x = rng(3).random((n, 2))
    return TaskData(x, objective(x), bounds=(-1.5, 1.5) if bounds else None)


UNGATED = PriorGP(source="forest", trees=5, gate=None)
NEW = rng(7).random((25, 2))


def reference_rows(meta: MetaDataset) -> NDArray:
    assert meta.reference is not None
    best = np.array([task.x[np.argmax(task.y)] for task in meta.tasks])
    return np.concatenate([meta.reference, best])


class Textbook:
    """The whole method with dense algebra: every model of the grid under every hypothesis, no shortcut."""

    def __init__(self, surrogate: PriorGP, meta: MetaDataset, data: TaskData) -> None:
        self.surrogate, self.data = surrogate, data
        self.reference = surrogate.features(reference_rows(meta))
        low, high = float(data.y.min()), float(data.y.max())
        if data.bounds is not None:
            self.ranges = [(data.bounds[1], data.bounds[0])]
        else:
            r = high - low if high > low else 1.0
            pairs = [(high + u * r, low - b * r) for u in (0, 0.03, 0.1, 0.25, 0.6) for b in (0, 0.25, 1, 3)]
            self.ranges = [(top, bottom) for top, bottom in pairs if top > bottom]
        self.log_weights = np.empty((225, len(self.ranges)))
        for place in range(225):
            k_a, k_b, _, scale = scales_of(place)
            log_prior = -0.5 * (math.log(k_a) ** 2 + math.log(k_b) ** 2 + 4 * math.log(scale) ** 2) / math.log(9) ** 2
            mean, kernel, noise = self.joint(data.x, place)
            density = multivariate_normal(mean, kernel + noise * np.eye(len(data)))
            for h, (top, bottom) in enumerate(self.ranges):
                f = (data.y - bottom) / (top - bottom)
                change = -np.log((1.2 - f) * (top - bottom)).sum()
                self.log_weights[place, h] = density.logpdf(self.z(h)) + change + log_prior - math.log(len(self.ranges))

    def z(self, h: int) -> NDArray:
        top, bottom = self.ranges[h]
        return -np.log(1.2 - (self.data.y - bottom) / (top - bottom))

    def joint(self, x: NDArray, place: int) -> tuple[NDArray, NDArray, float]:
        return written_out(x, self.surrogate.features(x), self.reference, scales_of(place))

    def kept(self) -> list[tuple[int, int, float]]:
        """Return place, hypothesis and weight of at most eight, all above 2 % of the largest."""
        flat = [(self.log_weights[p, h], p, h) for p in range(225) for h in range(len(self.ranges))]
        flat.sort(reverse=True)
        flat = [entry for entry in flat[:8] if entry[0] > flat[0][0] + math.log(0.02)]
        total = logsumexp([entry[0] for entry in flat])
        return [(p, h, math.exp(value - total)) for value, p, h in flat]

    def moments(self, x: NDArray, place: int, h: int) -> tuple[NDArray, NDArray, float]:
        """Return mean and noiseless variance [k] of z, and the noise variance."""
        n = len(self.data)
        mean, kernel, noise = self.joint(np.concatenate([self.data.x, x]), place)
        solved = np.linalg.solve(kernel[:n, :n] + noise * np.eye(n), kernel[:n, n:])
        variance = np.diag(kernel[n:, n:] - kernel[n:, :n] @ solved)
        return mean[n:] + solved.T @ (self.z(h) - mean[:n]), variance, noise


def log_ei(mean: float, std: float, best: float) -> mpmath.mpf:
    """Return the logarithm of expected improvement with fifty digits."""
    with mpmath.workdps(50):
        u = (mpmath.mpf(mean) - mpmath.mpf(best)) / mpmath.mpf(std)
        return mpmath.log(mpmath.mpf(std) * (u * mpmath.ncdf(u) + mpmath.npdf(u)))


@pytest.mark.parametrize("bounds", [True, False])
@pytest.mark.parametrize("n", [1, 6, 12])
def test_score_is_the_mixture_of_all_models(n: int, bounds: bool) -> None:
    meta, data = past(), target(n, bounds=bounds)
    surrogate = UNGATED.pretrain(meta, rng=rng())
    posterior = surrogate.fit(data, rng=rng())
    book = Textbook(surrogate, meta, data)
    total = [mpmath.mpf(0)] * len(NEW)
    for place, h, weight in book.kept():
        mean, variance, noise = book.moments(NEW, place, h)
        top, bottom = book.ranges[h]
        best = float(book.z(h).max())
        unit = (top - bottom) * (1.2 - (data.y.max() - bottom) / (top - bottom))  # (top - bottom) / W'(f_best)
        for i in range(len(NEW)):
            gain = mpmath.exp(log_ei(mean[i], math.sqrt(variance[i] + noise), best))
            total[i] += mpmath.mpf(weight) * mpmath.mpf(unit) * gain
    expected = [float(mpmath.log(value)) for value in total]
    np.testing.assert_allclose(posterior.score(NEW, rng=rng()), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("bounds", [True, False])
def test_predict_gives_the_moments_of_the_mixture_in_responses(bounds: bool) -> None:
    meta, data = past(), target(9, bounds=bounds)
    surrogate = UNGATED.pretrain(meta, rng=rng())
    prediction = surrogate.fit(data, rng=rng()).predict(NEW)
    book = Textbook(surrogate, meta, data)
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(60)
    node_weights = node_weights / node_weights.sum()
    first, second = np.zeros(len(NEW)), np.zeros(len(NEW))
    for place, h, weight in book.kept():
        mean, variance, _ = book.moments(NEW, place, h)
        top, bottom = book.ranges[h]
        z = mean[:, None] + np.sqrt(np.maximum(variance, 0))[:, None] * nodes
        y = bottom + (top - bottom) * (1.2 - np.exp(-z))
        first += weight * (y @ node_weights)
        second += weight * (y**2 @ node_weights)
    np.testing.assert_allclose(prediction.mean, first, **CLOSE)
    np.testing.assert_allclose(prediction.std**2, second - first**2, atol=1e-7)


@pytest.mark.parametrize("bounds", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n", [8, 15])
def test_gate_odds(n: int, bounds: bool, sign: float) -> None:
    """Odds from really leaving every observation out, for the four best models and for the plain process."""
    meta, data = past(sign=sign), target(n, bounds=bounds)
    surrogate = PriorGP(trees=5).pretrain(meta, rng=rng())
    posterior = surrogate.fit(data, rng=rng(11))
    assert isinstance(posterior, PriorGPPosterior)
    book = Textbook(surrogate, meta, data)
    h = int(np.argmax(logsumexp(book.log_weights, axis=0)))
    z = book.z(h)
    best = np.argsort(-book.log_weights[:, h])[:4]
    shares = book.log_weights[best, h] - logsumexp(book.log_weights[best, h])

    def left_out(mean: NDArray, covariance: NDArray) -> NDArray:
        densities: list[float] = []
        for i in range(n):
            others = np.arange(n) != i
            weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, i])
            centre = mean[i] + weights @ (z - mean)[others]
            densities.append(norm.logpdf(z[i], centre, math.sqrt(covariance[i, i] - weights @ covariance[others, i])))
        return np.array(densities)

    of_past = []
    for place in best:
        mean, kernel, noise = book.joint(data.x, int(place))
        of_past.append(left_out(mean, kernel + noise * np.eye(n)))
    mixture = logsumexp(np.array(of_past) + shares[:, None], axis=0)

    plain = GaussianProcess().fit(TaskData(data.x, z), rng=rng(11)).process.hyperparameters
    unit = z.std()
    difference = (data.x[:, None] - data.x[None]) / plain.lengths
    r = np.sqrt((difference**2).sum(axis=2))
    matern = (1 + math.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-math.sqrt(5) * r)
    covariance = unit**2 * (plain.variance * matern + plain.noise * np.eye(n))
    of_plain = left_out(np.full(n, z.mean() + unit * plain.mean), covariance)

    half = np.argsort(-z)[: max(4, n // 2)]
    delta = float((of_plain - mixture)[half].sum()) - 2
    assert posterior.odds == pytest.approx(1 / (1 + math.exp(delta)), rel=1e-6)


def test_gate_draws_with_its_odds() -> None:
    surrogate = PriorGP(trees=5, gate=GaussianProcess(restarts=0)).pretrain(past(), rng=rng())
    data = target(10)
    data = TaskData(data.x, data.y + 0.35 * rng(5).normal(size=10))
    posteriors = [surrogate.fit(data, rng=rng(seed)) for seed in range(200)]
    odds = posteriors[0].odds
    assert 0.05 < odds < 0.95  # else the test says nothing
    trusted = sum(posterior.plain is None for posterior in posteriors)
    assert abs(trusted - 200 * odds) < 4 * math.sqrt(200 * odds * (1 - odds))


@pytest.mark.parametrize("n", [1, 7])
def test_no_gate_before_eight_observations(n: int) -> None:
    posterior = PriorGP(trees=5).pretrain(past(sign=-1.0), rng=rng()).fit(target(n), rng=rng())
    assert posterior.plain is None
    assert posterior.odds == 1.0


def test_negated_past_hands_over_to_the_plain_process() -> None:
    meta, data = past(sign=-1.0), target(25)
    gated = PriorGP(trees=5).pretrain(meta, rng=rng())
    posterior = gated.fit(data, rng=rng())
    assert posterior.odds < 0.01
    scores = posterior.score(NEW, rng=rng())
    z = posterior.plain.posterior
    np.testing.assert_array_equal(scores, GaussianProcess().acquisition(z.predict(NEW), z.incumbent))
    assert "plain Gaussian process" in posterior.explain(NEW[0]).summary
    assert replace(gated, gate=None).fit(data, rng=rng()).plain is None


def test_a_past_that_misled_is_followed_by_random_rows() -> None:
    """Fewer than two observations lie where the past expects little: the plain process knows one corner only."""
    meta = past(sign=-1.0)
    surrogate = PriorGP(trees=5).pretrain(meta, rng=rng())
    space = np.concatenate([reference_rows(meta), rng(9).random((300, 2))])
    expected = (-np.log(1.2 - surrogate.features(space))).mean(axis=1)
    assert surrogate.past is not None
    assert surrogate.past.median == pytest.approx(np.median(expected[: len(reference_rows(meta))]))
    liked, disliked = space[expected > np.quantile(expected, 0.6)], space[expected < np.quantile(expected, 0.4)]

    def fitted(few: int, many: int) -> PriorGPPosterior:
        x = np.concatenate([disliked[:few], liked[:many]])
        posterior = surrogate.fit(TaskData(x, objective(x)), rng=rng(2))
        assert isinstance(posterior, PriorGPPosterior)
        assert posterior.odds < 0.05
        assert posterior.plain is not None
        return posterior

    assert fitted(1, 14).plain.is_blind
    assert not fitted(2, 13).plain.is_blind
    assert not fitted(1, 24).plain.is_blind
    blind = fitted(1, 14)
    np.testing.assert_array_equal(blind.score(NEW, rng=rng(5)), rng(5).random(len(NEW)))
    assert "chance chose" in blind.explain(NEW[0]).summary


def test_true_past_is_trusted() -> None:
    posterior = PriorGP(trees=20).pretrain(past(), rng=rng()).fit(target(12), rng=rng())
    assert posterior.odds > 0.8
    assert posterior.plain is None


def test_plain_process_predicts_in_responses() -> None:
    """What the gate hands over to knows the responses it was given."""
    data = target(30)
    posterior = PriorGP(trees=5).pretrain(past(sign=-1.0), rng=rng()).fit(data, rng=rng())
    assert posterior.plain is not None
    prediction = posterior.predict(data.x)
    np.testing.assert_allclose(prediction.mean, data.y, atol=0.1)
    assert prediction.noise > 0


@pytest.mark.parametrize("bounds", [True, False])
def test_without_observations_the_mean_of_the_past_decides(bounds: bool) -> None:
    meta = past()
    surrogate = PriorGP(trees=5).pretrain(meta, rng=rng())
    empty = TaskData(np.empty((0, 2)), np.empty(0), bounds=(0, 1) if bounds else None)
    posterior = surrogate.fit(empty, rng=rng())
    expected = (-np.log(1.2 - surrogate.features(NEW))).mean(axis=1)
    np.testing.assert_allclose(posterior.score(NEW, rng=rng()), expected, rtol=1e-12)
    assert posterior.incumbent == -np.inf
    assert surrogate.minimum_observations == 0
    assert PriorGP().minimum_observations == GaussianProcess().minimum_observations


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("source", ["auto", "forest", "gp", "both"])
def test_first_proposal_transfers_in_both_directions(sign: float, source: str) -> None:
    surrogate = PriorGP(source=source, trees=60).pretrain(past(sign=sign, tasks=6, drift=0.0, noise=0.0), rng=rng())
    pool = rng(8).random((500, 2))
    posterior = surrogate.fit(TaskData(np.empty((0, 2)), np.empty(0)), rng=rng())
    truth = sign * objective(pool)
    chosen = truth[np.argmax(posterior.score(pool, rng=rng()))]
    assert (truth.max() - chosen) / np.ptp(truth) < (0.1 if source == "forest" else 0.02)


def test_default_source_follows_the_reference() -> None:
    x = rng().random((50, 2))
    tasks = tuple(TaskData(x, objective(x) + s * x[:, 0]) for s in range(3))
    shared = PriorGP(trees=2).pretrain(MetaDataset(tasks, reference=x), rng=rng())
    apart = PriorGP(trees=2).pretrain(MetaDataset(tasks, reference=NEW), rng=rng())
    assert shared.past is not None
    assert apart.past is not None
    assert shared.past.models.processes is None
    assert apart.past.models.forest is None


@pytest.mark.parametrize("n", [1, 5, 10])
@pytest.mark.parametrize(
    "meta",
    [
        past(tasks=1),
        MetaDataset(tuple(replace(past().tasks[0], name=str(i)) for i in range(3))),
        MetaDataset((*past().tasks[:2], TaskData(NEW, np.zeros(len(NEW)), name="constant"))),
    ],
    ids=["one past task", "identical past tasks", "one constant past task"],
)
def test_pasts_with_little_to_say(meta: MetaDataset, n: int) -> None:
    posterior = PriorGP(trees=5).pretrain(meta, rng=rng()).fit(target(n), rng=rng())
    assert np.isfinite(posterior.score(NEW, rng=rng())).all()
    assert np.isfinite(posterior.predict(NEW).std).all()


def test_past_that_says_nothing_leaves_the_plain_process() -> None:
    nothing = MetaDataset((TaskData(NEW, np.zeros(len(NEW))), TaskData(NEW[:1], np.ones(1))))
    surrogate = PriorGP(trees=5).pretrain(nothing, rng=rng())
    assert surrogate.past is None
    plain = GaussianProcess().fit(target(6), rng=rng())
    prediction = surrogate.fit(target(6), rng=rng()).predict(NEW)
    np.testing.assert_array_equal(prediction.mean, plain.predict(NEW).mean)
    assert surrogate.features(NEW).shape == (25, 0)


@pytest.mark.parametrize("value", [0.0, -3.0, 1e12])
@pytest.mark.parametrize("n", [1, 5, 12])
def test_constant_responses(value: float, n: int) -> None:
    surrogate = PriorGP(trees=5).pretrain(past(), rng=rng())
    posterior = surrogate.fit(TaskData(target(n).x, np.full(n, value)), rng=rng())
    assert np.isfinite(posterior.score(NEW, rng=rng())).all()
    assert np.isfinite(posterior.predict(NEW).mean).all()


@pytest.mark.parametrize("value", [1e30, -1e30])
@pytest.mark.parametrize("n", [2, 6, 12])
def test_outliers(value: float, n: int) -> None:
    data = target(n)
    y = data.y.copy()
    y[n // 2] = value
    posterior = PriorGP(trees=5).pretrain(past(), rng=rng()).fit(TaskData(data.x, y), rng=rng())
    assert np.isfinite(posterior.score(NEW, rng=rng())).all()


def test_one_diverged_run_changes_little() -> None:
    """A bad outlier must not press all other responses onto one point."""
    surrogate = UNGATED.pretrain(past(), rng=rng())
    data = target(8)
    worst = int(np.argmin(data.y))
    scores = []
    for value in (-1e3, -1e30):
        y = data.y.copy()
        y[worst] = value
        scores.append(surrogate.fit(TaskData(data.x, y), rng=rng()).score(NEW, rng=rng()))
    assert np.argmax(scores[0]) == np.argmax(scores[1])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_units_of_the_responses_do_not_matter(unit: float) -> None:
    surrogate = UNGATED.pretrain(past(), rng=rng())
    data = target(8)
    plain = surrogate.fit(data, rng=rng()).score(NEW, rng=rng())
    scaled = surrogate.fit(TaskData(data.x, unit * data.y + 3 * unit), rng=rng()).score(NEW, rng=rng())
    np.testing.assert_allclose(scaled - math.log(unit), plain, atol=1e-5)


@pytest.mark.parametrize("n", [0, 5, 20])
def test_features_given_are_features_computed(n: int) -> None:
    surrogate = PriorGP(trees=5).pretrain(past(), rng=rng())
    data = target(n)
    given = replace(data, features=surrogate.features(data.x))
    scores = surrogate.fit(data, rng=rng()).score(NEW, rng=rng())
    posterior = surrogate.fit(given, rng=rng())
    np.testing.assert_array_equal(scores, posterior.score(NEW, features=surrogate.features(NEW), rng=rng()))


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = UNGATED.pretrain(past(), rng=rng()).fit(target(9), rng=rng())
    whole = posterior.score(NEW, rng=rng())
    monkeypatch.setattr("headstart.surrogates.prior_gp.CHUNK_ROWS", 4)
    np.testing.assert_allclose(posterior.score(NEW, rng=rng()), whole, rtol=1e-12)


@pytest.mark.parametrize("source", ["forest", "gp", "both"])
def test_pickling(source: str) -> None:
    surrogate = PriorGP(trees=5, source=source).pretrain(past(), rng=rng())
    posterior = surrogate.fit(target(12), rng=rng())
    again = pickle.loads(pickle.dumps(surrogate)).fit(target(12), rng=rng())
    expected = posterior.score(NEW, rng=rng())
    np.testing.assert_array_equal(again.score(NEW, rng=rng()), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(posterior)).score(NEW, rng=rng()), expected)


def test_more_observations_than_the_full_grid_is_for() -> None:
    surrogate = UNGATED.pretrain(past(), rng=rng())
    data = target(130)
    prediction = surrogate.fit(data, rng=rng()).predict(NEW)
    error = prediction.mean - objective(NEW)
    assert np.sqrt((error**2).mean()) < 0.3 * objective(NEW).std()


def test_explanation_names_the_most_similar_past_task() -> None:
    """The target is a past task over again: that one must weigh most, and the weights sum to one."""
    meta = past(tasks=5, n=150, noise=0.0)
    surrogate = PriorGP(trees=20, gate=None).pretrain(meta, rng=rng())
    x = rng(4).random((30, 2))
    posterior = surrogate.fit(TaskData(x, objective(x, 0.38)), rng=rng())  # past-4
    explanation = posterior.explain(NEW[0])
    assert explanation.weights[0][0] == "past-4"
    assert sum(weight for _, weight in explanation.weights) == pytest.approx(1.0)
    assert explanation.numbers["probability_of_past"] == 1.0
    assert "past-4" in explanation.summary


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": 0}, "trees must be between"),
        ({"source": "tree"}, "source must be"),
        ({"gate": GaussianProcess(response="copula")}, "Use 'standardise'"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        PriorGP(**settings)  # type: ignore[arg-type]


def test_rows_of_another_space_are_refused() -> None:
    surrogate = PriorGP(trees=5).pretrain(past(), rng=rng())
    posterior = surrogate.fit(target(3), rng=rng())
    wrong = rng().random((4, 3))
    with pytest.raises(DataError, match="2 columns"):
        surrogate.features(wrong)
    with pytest.raises(DataError, match="2 columns"):
        surrogate.fit(TaskData(wrong, np.zeros(4), features=np.zeros((4, 5))), rng=rng())
    with pytest.raises(DataError, match="2 columns"):
        posterior.score(wrong, rng=rng())
    with pytest.raises(DataError, match="one column per past task"):
        surrogate.fit(TaskData(NEW, np.zeros(25), features=np.zeros((25, 4))), rng=rng())
    with pytest.raises(DataError, match="one column per past task"):
        posterior.score(NEW, features=np.zeros((24, 5)), rng=rng())
