"""Proofs of the terminal chat: that it stays quick and small however long it is streamed to."""
