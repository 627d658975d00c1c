"""Conversation in, events out: the loop that puts the parts together."""
