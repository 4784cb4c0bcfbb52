"""Measures operations through Tacker's REST API, with several drivers."""
