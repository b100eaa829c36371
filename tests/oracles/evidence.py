"""What a device is believed to be after some rounds, with lists and loops: readings, then words of those who watched."""

from math import nan, sqrt
from statistics import median

from tests.oracles import trust


def ring(members, order, most):
    """Whom each member is watched by: the `most` that stand behind it in a ring."""
    ranked = sorted(members, key=lambda k: order[k])
    count = min(most, len(ranked) - 1)
    return {whom: [ranked[(place + step) % len(ranked)] for step in range(1, count + 1)] for place, whom in enumerate(ranked)}


def flagged(one, short):
    """Who answered with an update that somebody or its own length speaks against."""
    groups = {}
    for k, reply in one["replies"].items():
        groups.setdefault(one["labels"][k], []).append(reply["length"] / sqrt(reply["count"]))
    found = set(one["doubted"])
    for k, reply in one["replies"].items():
        usual = groups[one["labels"][k]]
        if len(usual) > 2 and reply["length"] / sqrt(reply["count"]) < short * median(usual):
            found.add(k)
    return found


def believed(devices, rounds, order, *, rule, how, reference, slots, short, witnesses, forgive=0, threshold=0.5):
    use, first, seen = ([[] for _ in range(devices)] for _ in range(3))
    seen, last, trusts = {}, [0] * devices, [1.0] * devices
    for turn, one in enumerate(rounds, 1):
        for k, reply in one["replies"].items():
            (first if len(first[k]) < reference else use)[k].append([nan if not 0 <= x <= 1 else x for x in reply["use"]])
        bad = flagged(one, short)
        for label in {one["labels"][k] for k in one["trainers"]}:
            members = [k for k in one["trainers"] if one["labels"][k] == label]
            for whom, watchers in ring(members, order, witnesses).items():
                for who in watchers:
                    if who in one["replies"]:
                        well = whom in one["replies"] and whom not in bad
                        seen.setdefault((who, whom), []).append(well)
        for k in one["trainers"]:
            last[k] = turn
        trusts = judged(devices, use, first, seen, rule=rule, how=how, reference=reference, slots=slots)
        forgiven = [k for k in range(devices) if forgive and trusts[k] < threshold and turn - last[k] >= forgive]
        for k in forgiven:
            use[k], first[k] = [], []
        seen = {pair: went for pair, went in seen.items() if pair[1] not in forgiven}
        if forgiven:
            trusts = judged(devices, use, first, seen, rule=rule, how=how, reference=reference, slots=slots)
    return trusts


def judged(devices, use, first, seen, *, rule, how, reference, slots):
    traces = [[[read[r] for read in told[-slots:]] for r in range(3)] for told in use]
    if rule == "printed":
        objective = [trust.printed(device) for device in traces]
    else:
        earlier = [[[read[r] for read in told] for r in range(3)] for told in first] if reference else None
        objective = trust.by_reference(traces, earlier, [[1.0] * 3] * devices)
    words = [[(1 + sum(went)) / (2 + len(went)) for (_, whom), went in seen.items() if whom == k] for k in range(devices)]
    return trust.overall(objective, words, how)
