"""The text formats, one file each: what a model is told and how what it writes is read, side by side."""
