"""What a person wants to keep: one commented file, the environment, and what the command line says over both."""
