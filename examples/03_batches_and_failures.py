"""Ask for several configurations at once, evaluate them in processes, and let some of them fail."""

from concurrent.futures import ProcessPoolExecutor

from headstart import Categorical, Config, Float, Int, Optimizer, Space

space = Space(
    Categorical("optimizer", ["sgd", "adam"]),
    Float("momentum", 0.0, 0.99, when={"optimizer": "sgd"}),
    Float("rate", 1e-5, 1.0, log=True),
    Int("batch", 8, 512, log=True),
)


def evaluate(config: Config) -> float | None:
    """Return an error rate, or None where the run would have diverged."""
    rate, momentum = float(config["rate"] or 0), float(config.get("momentum") or 0.5)
    if rate / (1 - momentum) > 0.5:
        return None
    return 0.1 + abs(momentum - 0.9) * 0.05 + abs(rate - 1e-2) ** 0.5 * 0.1 + int(config["batch"] or 0) / 10_000


if __name__ == "__main__":
    tuner = Optimizer(space, direction="minimize", seed=1)
    with ProcessPoolExecutor(2) as processes:
        for _ in range(5):
            trials = tuner.ask(4)
            for trial, value in zip(trials, processes.map(evaluate, [t.config for t in trials]), strict=True):
                tuner.tell(trial, value)  # None says that it failed
    failed = sum(one.state == "failed" for one in tuner.trials)
    print(f"{len(tuner.trials)} trials, {failed} failed, best {tuner.best.value:.3f} with {tuner.best.config}")
