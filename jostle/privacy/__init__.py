"""Privacy: exact noise, events and their prices, ledgers, vaults, and the probe that ties them together."""
