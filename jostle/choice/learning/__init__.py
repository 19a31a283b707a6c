"""Learning: rehearsals on public databases, the history they are kept in, and learners over it."""
