"""A file is there whole or not at all."""

from pathlib import Path

import pytest

from headstart.whole_files import written_whole


def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with written_whole(file) as stream:
        stream.write(b"new")
        assert file.read_bytes() == b"old"
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def half() -> None:
        with written_whole(file) as stream:
            stream.write(b"half")
            raise failure

    with pytest.raises(failure):
        half()
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_others_may_read_it_and_long_names_are_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 250)
    with written_whole(file) as stream:
        stream.write(b"x")
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert file.stat().st_mode == plain.stat().st_mode
