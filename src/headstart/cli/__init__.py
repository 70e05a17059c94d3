"""The command line: thin commands around the library, one file per group."""
