"""The demo: tune a support vector machine on real data with and without a memory of past tasks."""
