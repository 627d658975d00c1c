"""Tool calls written in text: what a model is told, and how what it writes is read."""
