"""Files that VNF packages carry; each does no more than hand on calls."""
