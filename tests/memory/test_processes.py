"""Forks, interrupts, kills and threads: what was told stays told."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from headstart.errors import ConfigError, MemoryStoreError
from headstart.memory import Memory
from headstart.space import Float, Space

SPACE = Space(Float("x", 0.0, 1.0))
CONFIG = {"x": 0.5}

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# Python 3.12 warns of every fork in a process with threads, of which pytest's plugins and BLAS have some
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    with Memory(path) as memory:
        memory.create_task("t", SPACE)
    return path


def _values(memory: Memory) -> list[float | None]:
    return [seen.value for seen in memory.observations("t")]


def _in_a_fork(work: Callable[[], None]) -> None:
    """Run ``work`` in a fork of this process and require that it ended well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)  # nothing of pytest's may run here
    assert os.waitpid(child, 0)[1] == 0


@needs_fork
@forks
def test_a_fork_and_its_parent_both_tell_and_nothing_is_lost(path: Path) -> None:
    memory = Memory(path)
    memory.add_observation("t", CONFIG, 0.0)  # leaves a connection open
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()

    def child() -> None:
        for i in (1.0, 2.0):
            memory.add_observation("t", CONFIG, i)
        os.write(from_child, b"!")
        os.read(to_child, 1)
        memory.add_observation("t", CONFIG, 3.0)  # the parent closed the file meanwhile

    def parent() -> None:
        os.read(to_parent, 1)
        memory.close()
        os.write(from_parent, b"!")

    thread = threading.Thread(target=parent)
    thread.start()
    _in_a_fork(child)
    thread.join()
    with Memory(path) as last:
        assert _values(last) == [0.0, 1.0, 2.0, 3.0]
        assert last.check() == []
    for end in (to_child, from_parent, to_parent, from_child):
        os.close(end)


@needs_fork
@forks
def test_forks_while_threads_tell(path: Path) -> None:
    stop = threading.Event()
    with Memory(path) as memory:

        def tell() -> int:
            count = 0
            while not stop.is_set():
                memory.add_observation("t", CONFIG, 1.0)
                count += 1
            return count

        with ThreadPoolExecutor(2) as pool:
            counts = [pool.submit(tell) for _ in range(2)]
            for _ in range(5):
                _in_a_fork(lambda: _tell(memory, 5, 2.0))
            stop.set()
        told = sum(count.result() for count in counts)
        found = _values(memory)
        assert found.count(2.0) == 25
        assert found.count(1.0) == told > 0
        assert memory.check() == []


@needs_fork
@forks
def test_a_private_memory_refuses_to_lose_what_a_fork_tells() -> None:
    with Memory(":memory:") as memory:
        memory.create_task("t", SPACE)

        def child() -> None:
            with pytest.raises(MemoryStoreError, match="lives in the process that made it"):
                memory.add_observation("t", CONFIG, 1.0)

        _in_a_fork(child)
        memory.add_observation("t", CONFIG, 2.0)
        assert _values(memory) == [2.0]


def _tell(memory: Memory, n: int, value: float) -> None:
    for _ in range(n):
        memory.add_observation("t", CONFIG, value)


@needs_fork
@forks
def test_multiprocessing_by_fork(path: Path) -> None:
    with Memory(path) as memory:
        fork: Any = multiprocessing.get_context("fork")
        workers = [fork.Process(target=_tell, args=(memory, 20, float(i))) for i in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(_values(memory)) == [float(i) for i in range(3) for _ in range(20)]
        assert memory.check() == []


INTERRUPTED = """
    import signal, sys
    from headstart.memory import Memory
    from headstart.space import Float, Space

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    memory = Memory(sys.argv[1], timeout=1)
    memory.create_task("t", Space(Float("x", 0.0, 1.0)))
    told = []
    for i in range(200):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.00005 * i)
                for _ in range(20):
                    told.append(memory.add_observation("t", {"x": 0.5}, float(i)))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            pass
    stored = [seen.number for seen in memory.observations("t")]
    print(len(told), set(told) <= set(stored), len(stored) - len(told) <= 200, memory.check())
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("location", ["runs.db", ":memory:"])
def test_interrupts_at_any_moment_keep_everything_told(tmp_path: Path, location: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), location]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # such as "locked", where an interrupted call kept its lock
    told, *rest = done.stdout.split(maxsplit=3)
    assert int(told) > 0
    assert rest == ["True", "True", "[]\n"]


TELLING = """
    import sys
    from headstart.memory import Memory
    from headstart.space import Float, Space
    memory = Memory(sys.argv[1])
    memory.create_task("t", Space(Float("x", 0.0, 1.0)))
    while True:
        number = memory.add_trial("t", {"x": 0.5})
        memory.finish_trial("t", number, state="complete", value=number / 7, metadata={"text": "m" * 3000})
        print(number, flush=True)
"""


def test_killed_in_the_middle_of_writing(path: Path) -> None:
    for round_ in range(6):
        command = [sys.executable, "-c", textwrap.dedent(TELLING), str(path)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert worker.stdout is not None
        told = [int(worker.stdout.readline())]
        time.sleep(0.003 * round_)  # long enough for some tells, and then anywhere in one
        worker.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        # a line may be cut off by the kill; what is whole was told
        told += [int(line) for line in worker.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        worker.stdout.close()
        worker.wait()
        with Memory(path) as memory:
            found = {seen.number: seen for seen in memory.observations("t")}
            assert all(found[number].value == number / 7 for number in told)
            assert all(len(found[number].metadata["text"]) == 3000 for number in told)
            assert sum(seen.state == "running" for seen in found.values()) <= round_ + 1  # the trials under way
            assert memory.check() == []
            memory.add_observation("t", CONFIG, 0.0)
    assert [found.name for found in path.parent.iterdir()] == ["runs.db"]


OPENING = """
    import sys
    from headstart.memory import Memory
    from headstart.space import Float, Space
    print(flush=True)
    sys.stdin.read(1)
    memory = Memory(sys.argv[1])
    memory.create_task("t", Space(Float("x", 0.0, 1.0)))
    memory.add_observation("t", {"x": 0.5}, 1.0)
"""


def test_several_processes_make_one_memory_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(OPENING), str(tmp_path / "runs.db")]
    workers = [subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1) for _ in range(4)]
    assert _start_together(workers) == [b""] * 4
    with Memory(tmp_path / "runs.db") as memory:
        assert _values(memory) == [1.0] * 4
        assert memory.check() == []


def _start_together(workers: list[Any]) -> list[bytes]:
    for worker in workers:
        worker.stdout.readline()  # it has imported what it needs
    for worker in workers:
        worker.stdin.write(b"!")
        worker.stdin.flush()
    return [worker.communicate()[1] for worker in workers]


def test_threads_open_and_close_memories_of_their_own(path: Path) -> None:
    def use(i: int) -> None:
        with Memory(path) as memory:
            memory.add_observation("t", CONFIG, float(i))
            memory.meta_dataset(SPACE)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(24)))
    with Memory(path) as memory:
        assert sorted(_values(memory)) == [float(i) for i in range(24)]
        assert memory.check() == []


def test_a_call_while_an_interrupt_is_handled_says_what_is_wrong_with_the_call(path: Path) -> None:
    with Memory(path) as memory:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:  # the place where a program saves what it has
            memory.add_observation("t", CONFIG, 1.0)
            with pytest.raises(ConfigError):
                memory.add_observation("t", {"x": 2.0}, 1.0)
        assert _values(memory) == [1.0]


def test_opening_a_file_again_does_not_drop_the_locks_on_it(path: Path) -> None:
    telling = textwrap.dedent(OPENING).replace("print(flush=True)", "").replace("sys.stdin.read(1)", "")
    with Memory(path) as first:
        first.add_observation("t", CONFIG, 0.0)
        Memory(path).close()
        # were it not for the locks, this process would take itself for the last one and delete the log
        subprocess.run([sys.executable, "-c", telling, str(path)], check=True)
        assert path.with_name("runs.db-wal").exists()
        first.add_observation("t", CONFIG, 2.0)
    with Memory(path) as last:
        assert _values(last) == [0.0, 1.0, 2.0]
        assert last.check() == []
