"""Check a package and the cluster before the first write."""
