"""The built-in Options; importing this registers them all."""
