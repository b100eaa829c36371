"""The side of the server."""

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from fedavg_digits import task

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Averages what the clients have trained."""
    strategy = FedAvg(fraction_evaluate=0.0)
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(task.initial()),
        num_rounds=context.run_config["rounds"],
        evaluate_fn=judge,
    )
    for t, metrics in result.evaluate_metrics_serverapp.items():
        print(f"round {t}: accuracy {metrics['accuracy']:.3f}", flush=True)


def judge(server_round: int, arrays: ArrayRecord) -> MetricRecord:
    """How good a model is."""
    return MetricRecord({"accuracy": task.accuracy(arrays.to_numpy_ndarrays())})
