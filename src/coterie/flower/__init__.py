"""The same methods and partitions on Flower (extra `flower`)."""
