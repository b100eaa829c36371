"""Handwritten digits with Flower's FedAvg and NumPy."""
