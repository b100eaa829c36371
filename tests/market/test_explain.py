from hypothesis import given

from coterie.market import Bids, Task, clear
from coterie.market.explain import VERDICTS, explain
from tests.market.markets import bids_of, markets, scale_of, task_of


@given(markets())
def test_everybody_gets_the_reason_that_the_plain_algorithm_gives(market):
    award = clear(task_of(market), bids_of(market), scale=scale_of(market))
    why = explain(task_of(market), bids_of(market), scale=scale_of(market))
    required = [d for d, quota in enumerate(market.quotas) if quota]
    under = [i for i, price in enumerate(market.prices) if price <= market.reserve]
    ranked = sorted(under, key=lambda i: (-market.score(i, market.prices[i]), market.prices[i], i))
    held, spent = dict.fromkeys(required, 0), 0
    for i in range(len(market.prices)):
        if i not in under:
            assert (why[i].verdict, why[i].rank) == (VERDICTS[1], None)
    for rank, i in enumerate(ranked, start=1):
        short = [d for d in required if held[d] < market.quotas[d]]
        if not any(market.counts[i][d] for d in required):
            expected = VERDICTS[2]
        elif not short:
            expected = VERDICTS[5]
        elif not any(market.counts[i][d] for d in short):
            expected = VERDICTS[3]
        elif spent + market.prices[i] > market.budget:
            expected = VERDICTS[4]
        else:
            expected, spent = VERDICTS[0], spent + market.prices[i]
            held = {d: held[d] + market.counts[i][d] for d in held}
        assert (why[i].verdict, why[i].rank) == (expected, rank)
    payments = dict(zip(award.winners.tolist(), award.payments.tolist(), strict=True))
    for i in range(len(why)):
        highest = market.critical_whole(i)
        assert why[i].critical == (None if highest < 0 else highest)
        assert why[i].payment == payments.get(i, 0)
        assert why[i].score == award.scores[i]


def test_a_reason_in_words():
    task = Task(quotas=[10, 0], budget=9, reserve_price=20, price_weight=0.0625)
    bids = Bids(prices=[4, 6, 30, 2], counts=[[10, 0], [10, 0], [10, 0], [0, 5]])
    why = explain(task, bids)
    assert [why[i].sentence for i in range(4)] == [
        "Bidder 0 won, paid 6 (rank 1, score 0.75, bid 4; bids up to 6 win).",
        "Bidder 1 came after all quotas were met (rank 2, score 0.625, bid 6; bids up to 3 win).",
        "Bidder 2 asked more than the reserve price (unranked, score -0.875, bid 30; bids up to 3 win).",
        "Bidder 3 holds no sample of a required class (rank 3, score -0.125, bid 2; no bid would have won).",
    ]


def test_reasons_where_the_budget_is_shared_out():
    task = Task(quotas=[50, 0], budget=30, reserve_price=20)
    bids = Bids(prices=[5, 8, 12, 21, 0], counts=[[20, 0], [20, 0], [20, 0], [20, 0], [0, 9]])
    why = explain(task, bids, mechanism="proportional-share")
    award = clear(task, bids, mechanism="proportional-share")
    assert [why[i].verdict for i in range(5)] == [VERDICTS[0], VERDICTS[0], VERDICTS[6], VERDICTS[1], VERDICTS[2]]
    assert [why[i].rank for i in range(5)] == [1, 2, 3, None, None]
    assert [why[i].payment for i in award.winners] == award.payments.tolist() == [12, 12]
    assert [why[i].critical for i in range(5)] == [12, 12, 10, 10, None]
