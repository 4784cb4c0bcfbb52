"""The v1 API of Tacker: infrastructure driver and what it needs."""
