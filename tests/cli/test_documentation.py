"""The commands of docs/cli.md, run one after the other in one folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
FOLDER = str(Path(sys.executable).parent)


@pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("headstart", path=FOLDER) is None,
    reason="needs bash, and the headstart script beside this Python",
)
def test_every_block_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    script = "\n".join(["set -euo pipefail", *blocks])
    environment = {**os.environ, "PATH": f"{FOLDER}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, "Error" in done.stderr) == (0, False), done.stderr
    assert "accuracy, maximize" in done.stdout
