"""What a model may call: definitions, typed functions as tools, and the registry that finds them by name."""
