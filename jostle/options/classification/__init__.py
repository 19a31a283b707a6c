"""Options that learn to predict a label from a table."""
