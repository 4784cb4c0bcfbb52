"""Measures ours against kubectl and client-go, on one API server."""
