"""Choose among configurations that were fixed beforehand, such as those of a table of results."""

import numpy as np

from headstart import Optimizer

rng = np.random.default_rng(0)
pool = rng.random((500, 3))  # rows of the unit cube; with a Space, a list of its configurations does as well
values = -((pool - 0.4) ** 2).sum(axis=1)

optimizer = Optimizer(pool=pool, direction="maximize", seed=0)
for _ in range(20):
    trial = optimizer.ask()
    assert trial.row is not None
    optimizer.tell(trial, values[trial.row])

rank = int((values > optimizer.best.value).sum()) + 1
print(f"After 20 of {len(pool)} rows the best found is number {rank} of all")
