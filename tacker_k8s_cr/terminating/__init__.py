"""Objects deleted, left, and waited for until they are gone."""
