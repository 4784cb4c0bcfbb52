"""Machines of a scale or a heal: select them, and annotate them."""
