"""Forward simulation as a service and as an action."""
