"""Studies that take minutes to hours: runnable scripts, each with a smoke mode that the tests run."""
