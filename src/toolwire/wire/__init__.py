"""Bytes to frames: one decoder per framing, all of them sans-IO and bounded."""
