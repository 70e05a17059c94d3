"""Six past tasks make the first proposal of the seventh a good one."""

import numpy as np

from headstart import Config, Float, Int, Memory, Optimizer, Space

space = Space(Float("learning_rate", 1e-4, 1.0, log=True), Int("depth", 1, 12))


def loss(config: Config, data: int) -> float:
    """Stand in for a training run on one of several related data sets."""
    rng = np.random.default_rng(data)
    best_rate, best_depth = -1.5 + 0.2 * rng.standard_normal(), 6 + rng.integers(-1, 2)
    rate, depth = np.log10(float(config["learning_rate"] or 1)), int(config["depth"] or 0)
    return 0.1 * float((rate - best_rate) ** 2 + ((depth - best_depth) / 4) ** 2)


memory = Memory("runs.db")
for data in range(6):
    Optimizer(space, task=f"data-{data}", memory=memory, seed=data).optimize(lambda c, d=data: loss(c, d), n_trials=15)

new = Optimizer(space, task="data-6", memory=memory, seed=0)
trial = new.ask()
new.tell(trial, loss(trial.config, 6))
print(f"{new.method} proposed {trial.config} first; its loss is {new.best.value:.4f}")
print(new.explain(trial).summary)

alone = Optimizer(space, method="gp", seed=0).optimize(lambda c: loss(c, 6), n_trials=5)
print(f"Without the past, the best loss of five trials is {alone.value:.4f}")
