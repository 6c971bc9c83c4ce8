"""Times of kane_dynamics beside those of its peers: ``python -m benchmarks``."""
