"""Chunks into segment events, and at the proper end of a stream into invocations."""
