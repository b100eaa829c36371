"""A federation whose clients pull one model towards points of their own: every loss and every step is known in closed form."""

from collections import Counter

import numpy as np

from coterie.federation import Ask, Federation, Layout, View
from coterie.replies import Meter, Reply, admit
from coterie.roster import Roster


class Quadratic(Federation):
    """Client k's loss is ‖w − c_k‖² / 2, and its training goes a share of the way to c_k."""

    def __init__(self, centers, sizes=None, seed=0, pace=0.5, present=None, fails=None, labels=None):
        self.centers = np.asarray(centers, dtype=np.float64)
        n, dim = self.centers.shape
        self.roster = Roster.of([f"client-{k}" for k in range(n)], size=np.full(n, 10) if sizes is None else sizes)
        self.layout = Layout(("0.weight", "0.bias"), ((1, dim - 1), (1,)))
        self.models = np.zeros((1, dim), np.float32)
        self.follows = np.zeros(n, np.intp)
        self.seed, self.pace, self.round = seed, pace, 0
        self.present = present or (lambda t: np.arange(n))
        self.fails = fails or (lambda t: ())
        self.labels = labels
        self.asked = Counter()
        self.plan = None

    def view(self, t):
        self.t = t
        present = np.asarray(self.present(t), dtype=np.intp)
        return View(t, self.roster, present, self.models, self.follows, self.layout, Questions(self), self.seed)

    def train(self, plan):
        self.plan = plan
        replies = []
        for client, start in zip(plan.trainers.tolist(), plan.start.tolist(), strict=True):
            if client in self.fails(self.t):
                continue
            w = self.models[start]
            model = (w + self.pace * (self.centers[client] - w)).astype(np.float32)
            replies.append(Reply(client, model, int(self.roster["size"][client]), self.t, {"loss": 0.0}))
        lost = {k: "failed" for k in plan.trainers.tolist() if k in self.fails(self.t)}
        return admit(plan, self.models, self.t, replies, lost=lost)

    def adopt(self, merge, replies):
        self.models = merge.apply(replies.models, self.models[self.plan.keeps])
        self.follows = np.zeros(len(self.roster), np.intp) if self.plan.follows is None else self.plan.follows
        self.round = self.t

    def scores(self):
        return None

    def meter(self):
        return Meter()

    def state(self):
        return {"models": self.models, "follows": self.follows, "round": self.round}

    def restore(self, state):
        self.models, self.follows, self.round = state["models"], state["follows"], state["round"]


class Questions(Ask):
    """Exact answers; `asked` counts them by kind and round. Who is not there gives NaN."""

    def __init__(self, federation):
        self.federation = federation

    def about(self, clients, about, among, kind):
        clients = np.asarray(clients, dtype=np.intp)
        self.federation.asked[kind, self.federation.t] += len(clients)
        models = (self.federation.models if among is None else among.models).astype(np.float64)
        gap = models[np.broadcast_to(about, clients.shape)] - self.federation.centers[clients]
        gap[~np.isin(clients, self.federation.present(self.federation.t))] = np.nan
        return gap

    def losses(self, clients, about=0, *, among=None, split="holdout", batch=None):
        return 0.5 * (self.about(clients, about, among, "losses") ** 2).sum(axis=1)

    def gradients(self, clients, about=0, *, among=None, part=None, batch=None, blur=None):
        return self.about(clients, about, among, "gradients").astype(np.float32)[:, part or slice(None)]

    def probe(self, clients, probe, about=0, *, split="holdout"):
        gap = self.about(clients, about, None, "probe")
        moved = gap[:, np.newaxis] + probe.moves(gap.shape[1]).astype(np.float64)
        changes = 0.5 * ((moved**2).sum(axis=2) - (gap**2).sum(axis=1)[:, np.newaxis])
        return np.stack([probe.release(row, np.random.default_rng(k)) for k, row in enumerate(changes)])

    def reports(self, clients, report, about=0, *, among=None):
        raise NotImplementedError("nobody here reports")

    def models(self, clients):
        return self.federation.models[self.federation.follows[np.asarray(clients)]]

    def label_counts(self, clients):
        clients = np.asarray(clients, dtype=np.intp)
        self.federation.asked["label_counts", self.federation.t] += len(clients)
        return np.asarray(self.federation.labels)[clients]
