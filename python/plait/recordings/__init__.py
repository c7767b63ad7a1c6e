"""Recordings of transfers over real paths: as results, as scenarios, and replayed."""

RECORDING = "recording"
"""The file name of a recording in its folder, until it becomes a folder of results."""
