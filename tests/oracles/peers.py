"""Listening without a server as it reads: one client after another, in plain Python."""

from math import exp


class PensClient:
    """One client of PENS (Onoszko et al., 2021)."""

    def __init__(self, degree, keep):
        self.degree, self.keep, self.times = degree, keep, {}

    def best(self, losses):
        """The neighbors to mix in the first phase, by the losses of their models on one's own data; they are counted."""
        chosen = [j for _, j in sorted((loss, j) for j, loss in losses.items())][: self.keep]
        for j in chosen:
            self.times[j] = self.times.get(j, 0) + 1
        return chosen

    def friends(self):
        """Whom it chose more often than chance."""
        chance = sum(self.times.values()) / self.degree
        return {j for j, times in self.times.items() if times > chance}


class FedericoClient:
    """One client of FedeRiCo (Sui et al., 2022): shares of the models, its own among them."""

    def __init__(self, neighbors, momentum):
        self.shares = {j: 1 / len(neighbors) for j in neighbors}
        self.momentum = momentum

    def learn(self, losses):
        """From the losses of those heard on one's own data."""
        mass = sum(self.shares[j] for j in losses)
        raw = {j: self.shares[j] * exp(-loss) for j, loss in losses.items()}
        for j in losses:
            explained = raw[j] / sum(raw.values()) * mass
            self.shares[j] = (1 - self.momentum) * self.shares[j] + self.momentum * explained
