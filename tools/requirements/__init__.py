"""Requirements, and the tests that claim them."""
