"""What knows nothing of networks: files, progress bars, Markdown pages, the machine."""
