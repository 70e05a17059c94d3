"""What a memory costs: tells per second, the past as arrays, opening.

    python tests/speed/memory.py [FOLDER]

The folder decides which disk is measured; a temporary one otherwise. Wall time for what waits for the disk, CPU time
for what does not. Medians of several rounds.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from headstart.memory import Memory
from headstart.space import Categorical, Float, Int, Space

SPACE = Space(
    Float("a", 1e-4, 1.0, log=True),
    Float("b", 0.0, 1.0),
    Int("c", 1, 64, log=True),
    Int("d", 1, 10),
    Categorical("e", ["x", "y", "z"]),
    Float("f", 0.0, 1.0, when={"e": ["x", "y"]}),
)
TASKS, TRIALS, TELLS = 40, 300, 300


def seconds(work: Callable[[], object], rounds: int, clock: Callable[[], float]) -> float:
    found: list[float] = []
    for _ in range(rounds):
        start = clock()
        work()
        found.append(clock() - start)
    return statistics.median(found)


def main(folder: Path) -> None:
    path = folder / "speed.db"
    rng = np.random.default_rng(0)
    configs = SPACE.sample(TRIALS, rng=rng)
    with Memory(path) as memory:
        memory.create_task("tells", SPACE)
        start = time.perf_counter()
        for config in configs[:TELLS]:
            memory.finish_trial("tells", memory.add_trial("tells", config), state="complete", value=1.0)
        wall = (time.perf_counter() - start) / TELLS
        print(f"ask and tell, each durable: {1e3 * wall:.2f} ms a trial, {1 / wall:.0f} trials per second")
        memory.delete_task("tells")
        start = time.perf_counter()
        for task in range(TASKS):
            memory.create_task(f"past-{task}", SPACE)
            for config in configs:
                memory.add_observation(f"past-{task}", config, float(rng.normal()))
        wall = (time.perf_counter() - start) / (TASKS * TRIALS)
        print(f"add_observation: {1e3 * wall:.2f} ms, {1 / wall:.0f} per second; {path.stat().st_size / 1e6:.1f} MB")

    def cold() -> None:
        with Memory(path) as memory:
            memory.meta_dataset(SPACE)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"past of {TASKS} x {TRIALS}, cold: {1e3 * seconds(cold, 5, time.process_time):.0f} CPU-ms with opening")
    print(f"  resident memory grew by {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.1f} MB")
    with Memory(path) as memory:
        memory.meta_dataset(SPACE)
        warm = seconds(lambda: memory.meta_dataset(SPACE), 20, time.process_time)
        print(f"  warm: {1e3 * warm:.2f} CPU-ms")

        def after_a_tell() -> None:
            memory.add_observation("past-7", configs[0], 0.5)
            memory.meta_dataset(SPACE)

        told = seconds(after_a_tell, 20, time.process_time)
        print(f"  after a tell into one task: {1e3 * told:.2f} CPU-ms, tell included")
        for what, work, rounds in (
            ("tasks()", memory.tasks, 5),
            ("observations() of one task", lambda: memory.observations("past-3"), 9),
            ("check()", memory.check, 3),
        ):
            print(f"{what}: {1e3 * seconds(work, rounds, time.process_time):.1f} CPU-ms")
    opening = seconds(lambda: Memory(path).close(), 20, time.process_time)
    print(f"opening and closing: {1e3 * opening:.1f} CPU-ms")
    code = "import resource; b = resource.getrusage(0); {}; a = resource.getrusage(0); print(a.ru_utime - b.ru_utime)"
    commands = [[sys.executable, "-c", code.format(f"import {module}")] for module in ("numpy", "headstart.memory")]
    numpy, ours = (float(subprocess.run(command, capture_output=True, check=True).stdout) for command in commands)
    print(f"import headstart.memory: {ours:.2f} CPU-s, of which NumPy {numpy:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(tempfile.mkdtemp(dir=sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
