"""Files from anywhere: read within bounds, and checked for what has to be in them, whatever it is for."""
