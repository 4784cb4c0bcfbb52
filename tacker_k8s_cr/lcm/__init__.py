"""The operations of the life cycle: one module for each."""
