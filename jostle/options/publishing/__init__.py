"""Options that publish rows in place of a table's own."""
