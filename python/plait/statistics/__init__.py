"""Designs and estimates: points that represent a domain, and statistics of their runs."""
