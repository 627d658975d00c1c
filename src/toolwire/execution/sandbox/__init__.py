"""What holds a program: what it may read, write and reach, enforced by the kernel."""
