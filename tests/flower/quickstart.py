"""A small app as users of Flower have it: softmax regression by NumPy, on blobs."""

import numpy as np
from flwr.client import ClientApp
from flwr.common import ArrayRecord, Context, Message, MetricRecord, RecordDict

from tests.simulation.small import blobs

CLIENTS, RATE = 8, 0.3
DATA = blobs(samples=400, classes=4, features=5)
app = ClientApp()


def data(context: Context):
    """Three of four classes a client, and more samples for later ones."""
    k = int(context.node_config["partition-id"])
    mine = np.flatnonzero(np.isin(DATA.y, [k % 4, (k + 1) % 4, (k + 2) % 4]))[k::CLIENTS][: 20 + 3 * k]
    return DATA.x[mine], DATA.y[mine]


def loss_and_slope(weights, bias, x, y):
    z = x @ weights + bias
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    error = p.copy()
    error[np.arange(len(y)), y] -= 1
    return float(-np.log(p[np.arange(len(y)), y] + 1e-9).mean()), x.T @ error / len(y), error.mean(axis=0)


@app.train()
def train(message: Message, context: Context) -> Message:
    weights, bias = message.content["arrays"].to_numpy_ndarrays()
    start, pull = (weights, bias), message.content["config"].get("proximal-mu", 0.0)
    x, y = data(context)
    for _ in range(5):
        loss, *slope = loss_and_slope(weights, bias, x, y)
        weights = weights - RATE * (slope[0] + pull * (weights - start[0]))
        bias = bias - RATE * (slope[1] + pull * (bias - start[1]))
    return Message(
        RecordDict(
            {
                "arrays": ArrayRecord([weights.astype(np.float32), bias.astype(np.float32)]),
                "metrics": MetricRecord({"train_loss": loss, "num-examples": len(y)}),
            }
        ),
        reply_to=message,
    )


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    x, y = data(context)
    loss = loss_and_slope(*message.content["arrays"].to_numpy_ndarrays(), x, y)[0]
    return Message(RecordDict({"metrics": MetricRecord({"eval_loss": loss, "num-examples": len(y)})}), reply_to=message)


def initial() -> ArrayRecord:
    return ArrayRecord([np.zeros((5, 4), np.float32), np.zeros(4, np.float32)])
