"""Widths of figures in papers. `--help` needs them, so this module imports nothing heavy."""

WIDTHS = {"column": 3.33, "page": 7.0, "ieee-column": 3.5, "ieee-page": 7.16}
"""Inches of a column and of a page with two columns: ACM's, which fit into IEEE's, and IEEE's."""
