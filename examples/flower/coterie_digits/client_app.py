"""The side of a client: it says what it holds, and Coterie does the rest."""

from flwr.app import Context

from coterie.flower import Holding, client_app
from coterie_digits.task import MODEL, digits, samples_of


def hold(context: Context) -> Holding:
    """What the node behind a context holds."""
    x, y = samples_of(int(context.node_config["partition-id"]), int(context.node_config["num-partitions"]))
    return Holding.of(MODEL, x, y, classes=digits().classes)


app = client_app(hold)
