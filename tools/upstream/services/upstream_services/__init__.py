"""What Tacker's services need for Tacker's own tests."""
