"""The side of the server: a federation over Flower's grid, and a recipe that is played on it."""

from dataclasses import replace

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from coterie import catalog, play
from coterie.backbones import SGD
from coterie.federation import Steps
from coterie.flower import FlowerFederation, on_test
from coterie_digits.task import MODEL, digits

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Plays the method that the run's configuration names."""
    asked, test = context.run_config, digits()
    federation = FlowerFederation.of(
        grid,
        MODEL,
        test.shape,
        test.classes,
        clients=asked["clients"] or None,
        seed=asked["seed"],
        arrival=asked["arrival"],
        patience=asked["deadline"],
        judge=on_test(MODEL, test.x_test, test.y_test, classes=test.classes),
    )
    per_round = max(1, round(asked["share"] * len(federation.roster)))
    train = SGD(Steps(epochs=2, batch_size=10, lr=0.2))
    recipe = replace(catalog.method(asked["method"], per_round=per_round, backbone=train), deadline=asked["deadline"])
    print(f"{len(federation.roster)} clients: {', '.join(federation.roster.keys)}", flush=True)
    for record in play(recipe, federation, asked["rounds"]):
        lost = {federation.roster.keys[k]: why for k, why in {**record.lost, **record.rejected}.items()}
        used = ", ".join(federation.roster.keys[k] for k in record.used) or "nobody"
        print(f"round {record.round}: accuracy {record.accuracy:.3f}, used {used}; lost {lost or 'nobody'}", flush=True)
