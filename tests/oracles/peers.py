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


class WaryClient:
    """One client that listens warily."""

    def __init__(self, slack, shares, margin, memory):
        self.slack, self.shares, self.margin, self.memory = slack, shares, margin, memory
        self.excess, self.change = {}, {}

    def _running(self, kept, name, new):
        kept[name] = (1 - self.memory) * kept[name] + self.memory * new if name in kept else new

    def friends(self, own, losses):
        """Those of the heard that are friends; `own` is one's loss on unseen data, `losses` theirs on one's training data."""
        for j, loss in losses.items():
            self._running(self.excess, j, loss - own)
        return [j for j in losses if self.excess[j] <= self.slack]

    def tried(self, losses):
        """`losses`: hold-out loss without friends, then with each share."""
        for a, loss in zip(self.shares, losses[1:], strict=True):
            self._running(self.change, a, loss - losses[0])

    def share(self, friends):
        """What friends count together, by one's own evidence and theirs (other clients)."""
        mean = {}
        for a in self.shares:
            known = [one.change[a] for one in [self, *friends] if a in one.change]
            if known:
                mean[a] = sum(known) / len(known)
        best = min(mean, key=mean.get) if friends and mean else None
        return best if best is not None and mean[best] < -self.margin else 0.0
