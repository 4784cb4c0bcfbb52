"""Wait until objects are ready or deleted, and explain why they are not."""
