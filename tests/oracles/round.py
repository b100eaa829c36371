"""A round that is over, for aggregators: a plan of any support and the replies to it."""

import numpy as np
from scipy import sparse

from coterie.backbones import SGD
from coterie.plan import Plan
from coterie.replies import Replies


def over(models, hears=None, counts=None):
    """Replies 0, 1, … with these models; by default one target that hears all."""
    models = np.array(models, dtype=np.float32)
    hears = np.ones((1, len(models)), bool) if hears is None else np.array(hears, bool)
    ids, none = np.arange(len(models)), np.zeros(len(hears), np.intp)
    plan = Plan(ids, np.zeros(len(models), np.intp), sparse.csr_array(hears), none, SGD())
    return plan, Replies(ids, models, np.array(counts if counts is not None else [1] * len(models)))


def merged(aggregator, models, hears=None, counts=None):
    """Tomorrow's models; a target that hears nobody keeps zeros."""
    plan, replies = over(models, hears, counts)
    merge = aggregator.weigh(None, plan, replies, None)
    merge.check(plan, replies)
    return merge.apply(replies.models, np.zeros((len(plan.keeps), replies.models.shape[1]), np.float32))
