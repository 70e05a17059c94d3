"""What opening a suite of 200 MB in HPO-B's layout costs: seconds and peak memory, the first and the second time.

    python tests/speed/suites.py [FOLDER]

The suite is made of copies of the tasks of ../shared/data/dev-suite, or of random numbers where that is absent, in a
temporary folder below FOLDER. Each opening is a process of its own. Wall time, without importing the library.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DEV_SUITE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "dev-suite"
MEGABYTES = 200
PARTS = ("meta-train-dataset", "meta-validation-dataset", "meta-test-dataset")
RANDOM = {"meta-train-dataset": 34, "meta-validation-dataset": 6, "meta-test-dataset": 8}
"""Tasks of a space, where there is no dev-suite."""

Nested = dict[str, dict[str, str]]
"""Space, task, JSON text."""

OPENING = """
import sys, time
from pathlib import Path
from headstart.benchmark.suites import open_suite
start = time.perf_counter()
suite = open_suite(sys.argv[1], cache=Path(sys.argv[2]))
seconds = time.perf_counter() - start
tasks = sum(len(space.train) + len(space.validation) + len(space.test) for space in suite.spaces)
memory = Path("/proc/self/status")
if memory.exists():  # unlike getrusage, it does not count what the parent held
    (line,) = [line for line in memory.read_text().splitlines() if line.startswith("VmHWM")]
    peak = int(line.split()[1]) / 1024
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{seconds:.2f} s, at most {peak:.0f} MB, {len(suite.spaces)} spaces, {tasks} tasks")
"""


def tasks_of(part: str) -> Nested:
    if DEV_SUITE.is_dir():
        raw = json.loads((DEV_SUITE / f"{part}.json").read_text())
        return {space: {name: json.dumps(task) for name, task in tasks.items()} for space, tasks in raw.items()}
    rng = np.random.default_rng(0)

    def task() -> str:
        return json.dumps({"X": rng.random((400, 10)).round(6).tolist(), "y": rng.random((400, 1)).tolist()})

    return {f"space {number}": {f"task {k}": task() for k in range(RANDOM[part])} for number in range(8)}


def tiled(tasks: Nested, copies: int) -> Iterator[str]:
    """Yield the text of a table in which every task stands ``copies`` times under different names."""
    yield "{"
    for number, (space, known) in enumerate(tasks.items()):
        yield f"{', ' if number else ''}{json.dumps(space)}: {{"
        members = [(f"{name} {copy}", text) for copy in range(copies) for name, text in known.items()]
        for place, (name, text) in enumerate(members):
            yield f"{', ' if place else ''}{json.dumps(name)}: {text}"
        yield "}"
    yield "}"


def main(folder: Path) -> None:
    suite = folder / "suite"
    suite.mkdir()
    parts = {part: tasks_of(part) for part in PARTS}
    size = sum(len(text) for tasks in parts.values() for known in tasks.values() for text in known.values())
    copies = -(-MEGABYTES * 10**6 // size)
    for part, tasks in parts.items():
        with (suite / f"{part}.json").open("w") as stream:
            stream.writelines(tiled(tasks, copies))
    total = sum(file.stat().st_size for file in suite.iterdir())
    print(f"{total / 1e6:.0f} MB of JSON, {copies} copies of {'the dev-suite' if DEV_SUITE.is_dir() else 'noise'}")
    for what in ("first", "second"):
        start = time.perf_counter()
        command = [sys.executable, "-W", "ignore", "-c", OPENING, str(suite), str(folder / "cache")]
        found = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
        print(f"{what} opening: {found}; {time.perf_counter() - start:.2f} s with starting Python")
    kept = sum(file.stat().st_size for file in (folder / "cache").rglob("*"))
    print(f"the converted tables take {kept / 1e6:.0f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as made:
        main(Path(made))
