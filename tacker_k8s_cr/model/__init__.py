"""Values that all packages share, without I/O."""
