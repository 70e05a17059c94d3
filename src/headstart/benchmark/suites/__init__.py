"""Where tasks to compare methods on come from: files, a Memory, scikit-learn, formulas."""

import warnings
from pathlib import Path

from headstart.benchmark.problems import Suite
from headstart.benchmark.suites.hpob import Version, hpob_suite, is_hpob
from headstart.benchmark.suites.leave_one_out import is_parquet_folder, is_text_folder, leave_one_out_suite
from headstart.errors import DataError
from headstart.protocols import Progress

__all__ = ["hpob_suite", "leave_one_out_suite", "open_suite"]


def open_suite(
    address: str,
    *,
    version: Version = "v3",
    surrogates: Path | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Suite:
    """Return the suite at ``address``.

    Args:
        address: A folder in HPO-B's layout or of grids, "synthetic", "synthetic:R" with how much past and targets have
            in common from 1 (all) to -1 (the contrary), "sklearn", or the place of a Memory.
        version: Of HPO-B.
        surrogates: A folder of XGBoost files, one for each task, for the continuous variant.
        cache: Where converted tables and evaluations are kept; the user's cache folder when None.
        progress: Called while "sklearn" evaluates its tasks for the first time.

    Raises:
        DataError: There is no suite there, or it is not well formed.
    """
    suite = _opened(address, version, cache, progress)
    if surrogates is not None:
        from headstart.benchmark.suites.continuous import with_surrogates

        suite = with_surrogates(suite, surrogates)
    for space in suite.spaces:
        for problem in (*space.validation, *space.test):
            low, high = problem.bounds
            if low == high:
                warnings.warn(
                    f"{address}: space '{space.name}', task '{problem.name}': y is constant ({low:g}), so every "
                    "configuration is best and the regret of all methods is 0.",
                    stacklevel=2,
                )
    return suite


def _opened(address: str, version: Version, cache: Path | None, progress: Progress | None) -> Suite:
    if address.partition(":")[0] == "synthetic":
        return _synthetic(address)
    if address == "sklearn":
        from headstart.benchmark.suites.columnar import cache_folder
        from headstart.benchmark.suites.real import sklearn_suite

        folder = cache_folder() if cache is None else cache
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"{folder}: evaluations cannot be kept there ({error}). Set XDG_CACHE_HOME to a folder that can be "
                "written to."
            ) from error
        return sklearn_suite(folder / "sklearn.db", progress=progress)
    place = Path(address)
    if place.is_dir():
        if is_hpob(place):
            return hpob_suite(place, version=version, cache=cache)
        if is_parquet_folder(place) or is_text_folder(place):
            return leave_one_out_suite(place)
        raise DataError(
            f"{address}: is no suite. A folder must hold meta-test-dataset.json and its companions (HPO-B's layout), "
            "one Parquet table per space, or one text file of numbers per data set."
        )
    if "://" not in address and not place.exists():
        raise DataError(
            f"{address}: there is no such folder or memory. Give a folder, a memory, 'synthetic' or 'sklearn'."
        )
    from headstart.benchmark.suites.of_memory import memory_suite  # SQLAlchemy

    return memory_suite(address)


def _synthetic(address: str) -> Suite:
    from headstart.benchmark.suites.synthetic import synthetic_suite

    _, colon, related = address.partition(":")
    if not colon:
        return synthetic_suite()
    try:
        return synthetic_suite(related=float(related))
    except ValueError as error:
        raise DataError(
            f"{address}: behind 'synthetic:' must stand a number from -1 to 1, what past and targets have in common."
        ) from error
