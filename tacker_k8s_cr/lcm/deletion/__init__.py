"""Delete or orphan objects, and wait until they no longer exist."""
