"""Helpers without knowledge of networks: files, progress bars, Markdown pages, the machine."""
