"""Choice makers: made, trained, kept, evaluated, and run."""
