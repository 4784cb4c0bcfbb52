"""The record of an instance in the cluster, and the lock for writing it."""
