"""What was learned before, to be followed: forests, policies made of them, and the files that both are kept in."""
