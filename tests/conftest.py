"""What holds for every test."""

import signal

from hypothesis import settings

# Seeds are explicit: a failure that one machine sees, every machine sees.
settings.register_profile("same everywhere", derandomize=True)
settings.load_profile("same everywhere")

# A shell starts its background jobs with Ctrl-C ignored, and so would be every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
