"""Check that texts use the terms of the field, and their spelling."""
