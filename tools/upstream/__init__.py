"""Tacker's own functional tests for Kubernetes, run with this project.

The tests come unchanged from the source distribution of Tacker. Command
line: ``python -m tools.upstream``, or ``make upstream``.
"""
