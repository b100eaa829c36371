"""The simulation: a federation in one process."""
