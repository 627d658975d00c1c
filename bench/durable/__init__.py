"""Proofs about durable runs: worker processes are killed, frozen and cut off from their database, and runs end well.

Each function tries a promise `count` times from a seed and gives what it found, as those of `bench.trust` do.
"""
