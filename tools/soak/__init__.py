"""Random operations on many instances, with kills and faults, by a seed.

Each step is one operation on one instance. After it the record, the labels
and the live objects are compared with what the operation has to leave.
"""
