"""Files beneath a root: opened without being led outside, replaced whole, and put back again."""
