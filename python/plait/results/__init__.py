"""What runs gave: metrics and tables, the folders they are written to, and how they are shown to people."""
