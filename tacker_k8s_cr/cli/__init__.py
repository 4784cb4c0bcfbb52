"""The operations as commands of a shell, on cliff.

No module here may import what talks to a cluster, reads a package or draws
on a terminal before a command runs: ``--help`` has to answer at once.
"""
