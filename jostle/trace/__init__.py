"""Traces: what a run did, holding nothing that was not paid for."""
