"""What may run: the gate between an invocation and its execution."""
