"""What suggestions cost. A busy machine would fail it, so it is skipped unless asked for with HEADSTART_SPEED=1."""
