"""Handwritten digits, with any method of Coterie on Flower."""
