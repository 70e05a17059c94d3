"""Measuring methods: suites of real and made problems, the runner, metrics, statistics, pictures and reports."""
