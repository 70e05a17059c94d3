"""Tune a support vector machine with the plain ask/tell loop, and keep it in a memory."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from headstart import Config, Float, Memory, Optimizer, Space

space = Space(Float("C", 1e-3, 1e3, log=True), Float("gamma", 1e-5, 1e1, log=True))
x, y = load_breast_cancer(return_X_y=True)


def accuracy(config: Config) -> float:
    model = make_pipeline(StandardScaler(), SVC(**config))
    return float(cross_val_score(model, x, y, cv=3).mean())


optimizer = Optimizer(
    space, task="breast-cancer", memory=Memory("runs.db"), direction="maximize", metric="accuracy", seed=0
)
for _ in range(12):
    trial = optimizer.ask()
    optimizer.tell(trial, accuracy(trial.config))

print(f"{len(optimizer.trials)} trials, best accuracy {optimizer.best.value:.3f} with {optimizer.best.config}")
