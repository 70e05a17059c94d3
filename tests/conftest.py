"""What holds for every test."""

import signal

# A shell starts its background jobs with Ctrl-C ignored, and so would be every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
