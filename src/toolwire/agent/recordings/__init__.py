"""Runs written down as bytes and events, and played again without network, person or tools."""
