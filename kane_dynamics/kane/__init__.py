"""Kane's method for trees of rigid bodies, step by step as in the papers."""
