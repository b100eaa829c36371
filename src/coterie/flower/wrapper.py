"""The side of a client that has an app already: a wrapper that also answers. It does without PyTorch, as the app may."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np
from flwr.client import ClientApp
from flwr.common import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

from coterie.flower.gauge import Gauge
from coterie.flower.nodes import HELLO, key_of
from coterie.flower.words import ARRAYS, OURS, SAMPLES, answers_record, models_in, told
from coterie.plan import USE


def answering(app: ClientApp, size: Callable[[Context], int] | None = None) -> ClientApp:
    """An app of Flower that also answers what `CoterieStrategy` asks: its losses, and how much it holds.

    Losses come from the app's own `@app.evaluate()`, whichever of its metrics has 'loss' in its name. Its training
    stays as it is; where a selector wants to know the losses before and after it, they are asked for around it.

    Args:
        app: The app, with its handlers.
        size: How many samples a node trains on; if None, what its evaluation says of their number stands for it.
    """
    return Answering(app, size)


class Answering(ClientApp):  # type: ignore[misc] # flwr is an extra
    """An app round another one; see `answering`."""

    def __init__(self, inner: ClientApp, size: Callable[[Context], int] | None) -> None:
        super().__init__()
        self.inner, self.size = inner, size

    def __call__(self, message: Message, context: Context) -> Message:
        match message.metadata.message_type:
            case kind if kind == HELLO:
                return self._hello(message, context)
            case "query.losses":
                losses = [self._evaluated(message, record, context)[0] for record in models_in(message.content)]
                return Message(answers_record(np.array(losses), round=told(message.content)["round"]), reply_to=message)
            case "train" if OURS in message.content:
                return self._train(message, context)
            case _:
                return self.inner(message, context)

    def _hello(self, message: Message, context: Context) -> Message:
        (record,) = models_in(message.content)
        size = self._evaluated(message, record, context)[1] if self.size is None else self.size(context)
        return Message(RecordDict({OURS: ConfigRecord({"key": key_of(context), "size": int(size)})}), reply_to=message)

    def _train(self, message: Message, context: Context) -> Message:
        asked = told(message.content)
        facts = {}
        (start,) = models_in(message.content)
        if "loss_before" in asked["wants"]:
            facts["fact.loss_before"] = self._evaluated(message, start, context)[0]
        gauge = Gauge()
        reply = self.inner(message, context)
        if not reply.has_content():
            return reply
        facts |= {f"fact.{name}": share for name, share in gauge.use(USE).items() if name in asked["wants"]}
        if "loss_after" in asked["wants"]:
            (trained,) = (record for record in reply.content.values() if isinstance(record, ArrayRecord))
            facts["fact.loss_after"] = self._evaluated(message, trained, context)[0]
        reply.content[OURS] = ConfigRecord({"round": asked["round"], **facts})
        return reply

    def _evaluated(self, message: Message, record: ArrayRecord, context: Context) -> tuple[float, int]:
        """Loss and number of samples of the app's own evaluation of a model."""
        others = {name: one for name, one in message.content.items() if isinstance(one, ConfigRecord) and name != OURS}
        config = {} if others else {"config": ConfigRecord({"server-round": told(message.content)["round"]})}
        question = copy(message)
        question.__dict__["_metadata"] = copy(message.metadata)
        question.metadata.message_type = "evaluate"
        question.content = RecordDict({ARRAYS: record, **others, **config})
        reply = self.inner(question, context)
        metrics = next((one for one in reply.content.values() if isinstance(one, MetricRecord)), MetricRecord())
        loss = next((value for name, value in metrics.items() if "loss" in name), None)
        if loss is None:
            raise ValueError("coterie: the app's evaluation must reply a metric with 'loss' in its name")
        return float(loss), int(metrics.get(SAMPLES, 1))
