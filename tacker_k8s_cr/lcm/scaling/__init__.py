"""Select the Machines of a scale, and annotate them."""
