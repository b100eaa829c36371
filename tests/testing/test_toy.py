from coterie import play
from coterie.catalog import fedavg
from coterie.testing import ROUGH, Chances, Toy


def test_learns():
    toy = Toy(clients=10, seed=2)
    accuracy = [record.accuracy for record in play(fedavg(per_round=5), toy, 20)]
    assert accuracy[-1] > accuracy[0]
    assert accuracy[-1] > 0.6


def test_chances_are_what_happens():
    toy, rounds = Toy(clients=50, seed=2, chances=Chances(present=0.5, replying=0.8, sound=0.9)), 40
    records = list(play(fedavg(per_round=50), toy, rounds))
    available = sum(len(record.available) for record in records)
    answered, rejected = (sum(len(getattr(record, what)) for record in records) for what in ("answered", "rejected"))
    assert abs(available / (50 * rounds) - 0.5) < 0.05
    assert abs((answered + rejected) / available - 0.8) < 0.05
    assert abs(rejected / (answered + rejected) - 0.1) < 0.05


def test_a_broken_reply_is_rejected_with_a_reason():
    toy = Toy(clients=12, seed=1, chances=ROUGH)
    reasons = [reason for record in play(fedavg(), toy, 5) for reason in record.rejected.values()]
    assert reasons
    assert all("are not finite" in reason for reason in reasons)


def test_no_clients_at_all_is_a_federation_too():
    records = list(play(fedavg(), Toy(clients=0), 2))
    assert [len(record.asked) for record in records] == [0, 0]
