"""Markdown on the screen while it streams: text is cut into blocks that stay as they are, and lines laid out once."""
