"""What the project needs beside its package: the plane, demo, checks."""
