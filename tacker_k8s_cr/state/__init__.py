"""What is kept of an instance in the cluster, and who may write it."""
