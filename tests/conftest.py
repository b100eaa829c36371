"""One thread for matrix products: tests run side by side, and threads of small products only wait for each other."""

import os

for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
