"""All stable matchings of a small market, by trying every one."""

from collections.abc import Iterator
from itertools import product

Likes = dict[tuple[int, int], float]


def all_stable(by_follower: Likes, by_leader: Likes, followers: int, quotas: list[int]) -> Iterator[list[int]]:
    """Every assignment of followers to leaders (−1: none) on listed pairs within quotas that no pair blocks."""
    choices = [[-1, *(leader for leader in range(len(quotas)) if (f, leader) in by_follower)] for f in range(followers)]
    for found in product(*choices):
        inside = [[f for f in range(followers) if found[f] == leader] for leader in range(len(quotas))]
        if any(len(group) > quota for group, quota in zip(inside, quotas, strict=True)):
            continue
        if not any(blocks(f, leader, found, inside, by_follower, by_leader, quotas) for f, leader in by_follower):
            yield list(found)


def blocks(
    f: int,
    leader: int,
    found: tuple[int, ...],
    inside: list[list[int]],
    by_follower: Likes,
    by_leader: Likes,
    quotas: list[int],
) -> bool:
    if found[f] == leader or quotas[leader] == 0:
        return False
    wants = found[f] == -1 or by_follower[f, leader] > by_follower[f, found[f]]
    room = len(inside[leader]) < quotas[leader]
    return wants and (room or any(by_leader[f, leader] > by_leader[other, leader] for other in inside[leader]))
