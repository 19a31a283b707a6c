"""The language: text to tree, checks, and back to text."""
