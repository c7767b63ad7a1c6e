"""The code inside the kernel: sets up the network, moves the data, observes.

These modules use the standard library alone and import each other relatively. The guest's Python
loads nothing else, so that it starts in a fraction of a second.
"""
