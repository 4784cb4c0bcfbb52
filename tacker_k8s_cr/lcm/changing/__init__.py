"""Steps of a change of package."""
