"""HTTP to an API server: requests, responses, connections."""
