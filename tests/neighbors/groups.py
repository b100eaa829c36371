"""Planted groups: even clients hold some classes, odd ones the others."""

import numpy as np

import coterie
from coterie import data
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.recipe import play

BACKBONE = SGD(Steps(epochs=5, batch_size=16, lr=0.05, momentum=0.9))


def two(dataset, clients, samples, seed):
    """A partition of `samples` a client in which even clients hold the lower half of the classes."""
    dice = np.random.default_rng(seed)
    holder = np.full(len(dataset), -1)
    for half in (0, 1):
        low = dataset.y < dataset.classes // 2
        pool = dice.permutation(np.flatnonzero(low if half == 0 else ~low))
        members = np.arange(half, clients, 2)
        holder[pool[: len(members) * samples]] = np.repeat(members, samples)
    return data.Partition.of(holder, clients, "two groups", fingerprint=dataset.fingerprint)


def federation(clients=20, samples=32, seed=1, **settings):
    digits = data.load("digits")
    given = {"model": "mlp:32", "workers": 1, "tuned": Steps(epochs=1, batch_size=16, lr=0.05, momentum=0.9), **settings}
    return coterie.simulate(digits, partition=two(digits, clients, samples, seed), seed=seed, **given)


def inside(record, clients):
    """The share of the weight off the diagonal that falls on one's own group."""
    weights = np.zeros((clients, clients))
    weights[:, record.answered] = record.merge.weights.toarray()
    np.fill_diagonal(weights, 0)
    alike = np.equal.outer(np.arange(clients) % 2, np.arange(clients) % 2)
    return weights[alike].sum() / weights.sum()


def last(recipe, rounds, clients=20, **settings):
    """The last record, and each round's share of the weight inside the groups."""
    with federation(clients, **settings) as fed:
        records = list(play(recipe, fed, rounds))
    return records[-1], [inside(record, clients) for record in records if record.merge.weights.nnz > clients]


def tuned(record):
    return float(np.nanmean(record.scores.clients["accuracy_tuned"]))
