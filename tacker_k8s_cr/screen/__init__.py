"""Tables of rows for people, as wide as the screen is.

``layout`` is pure; ``listing`` gives it to the commands on cliff.
"""
