"""Studies of the site's pages: each module makes its runs, returns figures, tables and values."""
