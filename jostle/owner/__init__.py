"""The owner's process: rows, noise, ledger and vault in one process, those who ask in others."""
