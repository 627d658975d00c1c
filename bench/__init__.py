"""Measurements and proofs that are too heavy for the test run: speed, fuzzing, the table of figures.

Run from the project root: `python -m bench.speed`, `python -m bench.fuzz`, `python -m bench.figures`.
"""
