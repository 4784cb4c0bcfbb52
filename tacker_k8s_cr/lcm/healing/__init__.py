"""The members of an instance, and others in their places."""
