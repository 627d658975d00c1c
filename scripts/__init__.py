"""What makes the generated parts of the documents."""
