"""Objects written, and all that is looked at before."""
