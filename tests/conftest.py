"""One thread for matrix products: tests run side by side, and threads of small products only wait for each other."""

import os

for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from hypothesis import settings  # noqa: E402 - after the threads are set

settings.register_profile("house", deadline=None)
settings.load_profile("house")  # tests side by side on a busy machine are slow at times, which is no failure
