"""AFIND+ as its algorithm reads: one client after another, one neighbor after another, in plain Python."""

from math import exp, log


def cosine(one, other):
    inner = sum(float(a) * float(b) for a, b in zip(one, other, strict=True))
    lengths = [sum(float(a) ** 2 for a in vector) ** 0.5 for vector in (one, other)]
    return inner / (lengths[0] * lengths[1]) if min(lengths) > 0 else 0.0


class Client:
    """One client's beliefs of its neighbors."""

    def __init__(self, neighbors, *, tau, nu, entropy, relative, memory):
        self.p = {j: 1 / len(neighbors) for j in neighbors}
        self.s = {}
        self.threshold = 0.0
        self.tau, self.nu, self.entropy, self.relative, self.memory = tau, nu, entropy, relative, memory

    def coreset(self, available):
        scale = len(self.p) if self.relative else 1
        return [j for j in self.p if j in available and self.p[j] * scale >= self.threshold]

    def learn(self, own, proxies):
        """`proxies`: φ_j of those contacted."""
        for j, proxy in proxies.items():
            new = cosine(own, proxy)
            self.s[j] = (1 - self.memory) * self.s[j] + self.memory * new if self.memory and j in self.s else new
        if not proxies:
            return
        ranked = self.s if self.memory else proxies
        mass = 1 - sum(p for j, p in self.p.items() if j not in ranked)
        total = sum(exp(self.s[j] / self.nu) for j in ranked)
        for j in ranked:
            self.p[j] = mass * exp(self.s[j] / self.nu) / total
        h = 0.0
        for j in proxies:
            e = (self.s[j] + 1) / 2
            h -= e * log(e) if e > 0 else 0.0
        h /= len(proxies) if self.entropy == "mean" else 1
        self.threshold = self.tau * (1 - 1 / (1 + exp(-h)))


def boltzmann_row(losses_before, losses_after, gamma, temperature):
    """The weights of those heard."""
    raw = [
        exp(-((1 - gamma) * after + gamma * before) / temperature)
        for before, after in zip(losses_before, losses_after, strict=True)
    ]
    return [value / sum(raw) for value in raw]
