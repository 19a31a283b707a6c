"""Options of statistics: ways to a mean, a sum, a variance, quantiles."""
