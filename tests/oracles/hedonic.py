"""Coalition structures as lists of sets, and the stability notions word by word."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

Set = frozenset[int]
Structure = list[Set]
Worth = Callable[[int, Set], float]
MARGIN = 1e-9


def all_structures(players: list[int]) -> Iterator[Structure]:
    if not players:
        yield []
        return
    first, rest = players[0], players[1:]
    for others in (set(chosen) for size in range(len(rest) + 1) for chosen in combinations(rest, size)):
        for structure in all_structures([player for player in rest if player not in others]):
            yield [frozenset({first, *others}), *structure]


def labels_of(structure: Structure, players: int) -> list[int]:
    return [next(number for number, group in enumerate(structure) if player in group) for player in range(players)]


def admitted(player: int, group: Set, barred: list[list[bool]], max_size: int) -> bool:
    return not group or (len(group) < max_size and not any(barred[member][player] for member in group))


def nash(worth: Worth, structure: Structure, barred: list[list[bool]], max_size: int) -> bool:
    return not any(True for _ in wishes(worth, structure, barred, max_size))


def individual(worth: Worth, structure: Structure, barred: list[list[bool]], max_size: int) -> bool:
    return not any(
        all(worth(member, group | {player}) >= worth(member, group) - MARGIN for member in group)
        for player, group in wishes(worth, structure, barred, max_size)
    )


def wishes(worth: Worth, structure: Structure, barred: list[list[bool]], max_size: int) -> Iterator[tuple[int, Set]]:
    for own in structure:
        for player in own:
            for group in [*(group for group in structure if group != own), frozenset()]:
                better = worth(player, group | {player}) > worth(player, own) + MARGIN
                if better and admitted(player, group, barred, max_size):
                    yield player, group


def core(worth: Worth, structure: Structure, barred: list[list[bool]], max_size: int) -> bool:
    own = {player: group for group in structure for player in group}
    players = sorted(own)
    sets: Iterable[Set] = (frozenset(chosen) for size in range(1, max_size + 1) for chosen in combinations(players, size))
    return not any(
        all(worth(player, group) > worth(player, own[player]) + MARGIN for player in group)
        for group in sets
        if not any(barred[one][two] for one in group for two in group if one != two)
    )
