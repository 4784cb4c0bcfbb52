"""Transfer objects from one instance to another."""
