"""What runs inside the kernel: sets the network up, moves the data, observes.

These modules use the standard library alone and import each other relatively: the guest's Python starts with nothing
else, so that it is up in a fraction of a second.
"""
