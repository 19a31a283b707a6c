"""Policies of labelled choices: learned from whole programs, kept, and followed."""
