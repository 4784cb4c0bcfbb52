"""The check of an installation."""
