"""The v2 API of Tacker: driver, loader and what they need."""
