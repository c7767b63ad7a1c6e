"""Designs and estimates: which points represent a domain, and what their runs tell of it."""
