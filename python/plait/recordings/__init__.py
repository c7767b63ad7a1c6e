"""Recordings of transfers over real paths: as results, as scenarios, and run again in the simulator."""

RECORDING = "recording"
"""The name of a recording in its folder, until it is made into a folder of results."""
