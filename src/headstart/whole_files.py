"""Files that are there whole or not at all, whatever happens while they are written."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

LONGEST_STEM = 100
"""Characters of a name that its unfinished file keeps: file systems have a limit."""


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """Give a stream whose content is put at ``path`` in one step, on the disk, once the block ends well.

    Until then it lies beside, in a file whose name begins with a dot; of a block that fails nothing is left.
    """
    # no tempfile: only its owner could read it, and results are there to be shared
    beside = path.with_name(f".{path.name[:LONGEST_STEM]}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    with suppress(OSError):  # not every system opens folders; the new name is then as durable as it gets
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
