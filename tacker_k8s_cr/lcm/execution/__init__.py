"""Carry out a plan, undo it, restore what was before."""
