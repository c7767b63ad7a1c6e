"""The runs behind the site's pages: each module makes its runs, and gives figures, tables and values."""
