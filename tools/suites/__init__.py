"""All suites, one after the other, in the background, with a record."""
