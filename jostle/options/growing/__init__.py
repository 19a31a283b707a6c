"""Growing trees: groves, splits, leaves and pruning, which several Options and the language share."""
