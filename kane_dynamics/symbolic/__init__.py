"""Expressions: a graph of shared nodes that simplifies as it is built."""
