"""Release or retain objects when an instance is terminated."""
