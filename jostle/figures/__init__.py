"""Figures of papers, made again with the algorithms here: `jostle reproduce`, and what benchmarks draw."""
