"""Metafeatures: what about a database may decide which Option is best."""
