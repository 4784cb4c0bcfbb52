"""Carry out one stage of a plan, and wait for its objects."""
