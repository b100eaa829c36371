"""The side of a client."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fedavg_digits import task

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Trains on the node's own samples."""
    x, y = _samples(context)
    model = task.train(message.content["arrays"].to_numpy_ndarrays(), x, y)
    metrics = MetricRecord({"train_loss": task.loss(model, x, y), "num-examples": len(y)})
    return Message(RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Judges a model on the node's own samples."""
    x, y = _samples(context)
    loss = task.loss(message.content["arrays"].to_numpy_ndarrays(), x, y)
    metrics = MetricRecord({"eval_loss": loss, "num-examples": len(y)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


def _samples(context):
    return task.samples_of(int(context.node_config["partition-id"]), int(context.node_config["num-partitions"]))
