"""Find and replace the members of an instance."""
