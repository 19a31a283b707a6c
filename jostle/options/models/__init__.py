"""Models: what classification Options give back, made of released numbers alone."""
