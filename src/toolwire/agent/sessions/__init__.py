"""Conversations that outlive the process: what is written of them, and how they are resumed."""
