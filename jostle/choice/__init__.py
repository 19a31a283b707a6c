"""Choosing: public databases, rehearsals on them, and makers that learn from those which Option to run."""
