"""Jobs on a Ray cluster. Records come back to this process, which alone writes them: no file system is shared."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headstart.benchmark.store import write_run
from headstart.errors import MissingDependencyError
from headstart.processes import Report

if TYPE_CHECKING:
    from headstart.benchmark.runner import Executor, Job

RETRIES = -1
"""A job whose worker died is done again elsewhere, however often; its numbers depend on names only."""


@contextmanager
def ray_executor() -> Generator["Executor"]:
    """Give what carries jobs out.

    The cluster is the one that this process is connected to, or that RAY_ADDRESS names, or else one of this machine.
    """
    try:
        import ray  # pyright: ignore[reportMissingTypeStubs, reportMissingImports] - only for this backend
    except ImportError as error:
        raise MissingDependencyError(
            "--backend ray needs 'ray', which is not installed. Run: pip install 'headstart[ray]'."
        ) from error
    client: Any = ray
    began = not client.is_initialized()
    if began:
        client.init(log_to_driver=False, include_dashboard=False)
    remote = client.remote(num_cpus=1, max_retries=RETRIES)(_records)

    def execute(jobs: Sequence["Job"], report: Report, /) -> None:
        waiting: dict[Any, Job] = {remote.remote(job): job for job in jobs}
        try:
            while waiting:
                (done,), _ = client.wait(list(waiting), num_returns=1)
                job = waiting.pop(done)
                for key, record in client.get(done):
                    write_run(job.folder, job.method.name, key, record, job.stamp)
                    report("run", None)
                if not job.seeds:
                    report("pre-training", None)
        except BaseException:
            for reference in waiting:
                client.cancel(reference)
            raise

    try:
        yield execute
    finally:
        if began:
            client.shutdown()


def _records(job: "Job") -> list[Any]:
    from headstart.optimizer.loop import one_thread

    with one_thread():
        return list(job.records())
