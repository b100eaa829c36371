"""Rounds of the simulation against a plain PyTorch loop, and against Flower's simulation where it is installed.

python -m benchmarks.engine [mlp] [cnn] [many] [mlp-flower] [cnn-flower] [many-flower]
"""

import sys

from coterie.experiments.bench import bench


def main(names: list[str]) -> None:
    print(f"{'':14} {'ms a round':>12} {'reference':>12} {'ratio':>7}")
    for name, measured in bench(names).items():
        ours, reference = (1000 * float(measured[key]) for key in ("seconds", "reference_seconds"))
        print(f"{name:14} {ours:12.1f} {reference:12.1f} {measured['ratio']:7.2f}  {measured['what']}")


if __name__ == "__main__":
    main(sys.argv[1:])
