"""Running what was approved: tickets in, results out."""
