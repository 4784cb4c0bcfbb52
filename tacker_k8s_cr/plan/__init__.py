"""What is done to which objects, and in what order."""
