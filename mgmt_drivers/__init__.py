"""Files that VNF packages contain; each only delegates calls."""
