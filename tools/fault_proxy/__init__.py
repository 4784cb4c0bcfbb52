"""A proxy before an API server that makes faults, for tests."""
