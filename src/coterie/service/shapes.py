"""What the API takes and gives: the contract that `/openapi.json` publishes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from coterie.market.auction import Mechanism
from coterie.service.books import LARGEST
from coterie.service.keys import Role
from coterie.service.lifecycle import Status
from coterie.service.parties import MOST_SAMPLES
from coterie.service.terms import LARGEST_QUOTA, LARGEST_WEIGHT, MOST_CLASSES

PLAIN = r"^[^\x00-\x1f\x7f]+$"
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=PLAIN)]
Reason = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=PLAIN)]
Words = Annotated[str, StringConstraints(max_length=2000, pattern=LINES)]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Number = Annotated[int, Field(ge=1, le=2**53)]
Amount = Annotated[int, Field(ge=1, le=LARGEST)]
Weight = Annotated[float, Field(ge=0, le=LARGEST_WEIGHT, allow_inf_nan=False)]
Counts = Annotated[list[Annotated[int, Field(ge=0, le=MOST_SAMPLES)]], Field(min_length=1, max_length=MOST_CLASSES)]


class Shape(BaseModel):
    """No surprises: no unknown fields, no numbers in quotes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """Why a request was refused. Nothing was changed."""

    detail: Any


class Admission(Shape):
    """A party to be let in."""

    name: Name
    role: Literal["owner", "client"]


class PartyOut(BaseModel):
    """A party."""

    id: int
    name: str
    role: Role


class Admitted(PartyOut):
    """A party with its first key, which is shown this once."""

    key: str


class KeyIn(Shape):
    """A further key."""

    label: Name


class KeyOut(BaseModel):
    """A key that was made, shown this once."""

    id: int
    key: str


class KeyListed(BaseModel):
    """A key, without the key."""

    id: int
    at: float
    label: str
    revoked_at: float | None


class Description(Shape):
    """What the network owner knows of a client's data."""

    ground: Name
    member: Name
    counts: Counts
    reason: Reason


class Described(BaseModel):
    """A description, as it was written down."""

    id: int
    at: float
    ground: str
    member: str
    counts: list[int]
    reason: str


class GroundSettings(Shape):
    """A simulated federation: whose data, dealt how, to how many clients; its members are called 0, 1, 2 and so on."""

    dataset: Name
    partition: dict[Name, Annotated[str, StringConstraints(max_length=80)] | int | float | bool]
    """The name of its `scheme`, and what that scheme can be told."""
    clients: Annotated[int, Field(ge=1, le=100_000)]
    classes: Annotated[int, Field(ge=1, le=MOST_CLASSES)]
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    model: Name = "mlp"


class GroundIn(Shape):
    """A federation in which cohorts can train."""

    name: Name
    settings: GroundSettings


class GroundOut(BaseModel):
    """A ground, as it was named."""

    name: str
    settings: dict[str, Any]


class MoneyIn(Shape):
    """Money that moves, under a key of the sender's: the same key moves it once, however often it is sent."""

    amount: Amount
    key: Key


class Moved(BaseModel):
    """A transfer that was made."""

    transfer: int
    balance: int


class Entry(BaseModel):
    """A line of an account."""

    number: int
    at: float
    amount: int
    balance: int
    reason: str


class AccountOut(BaseModel):
    """An account with its last entries, the newest first."""

    account: str
    balance: int
    entries: list[Entry]


class TaskIn(Shape):
    """A task as its owner describes it."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=120, pattern=PLAIN)]
    ground: Name
    quotas: Annotated[list[Annotated[int, Field(ge=0, le=LARGEST_QUOTA)]], Field(min_length=1, max_length=MOST_CLASSES)]
    reserve_price: Amount
    about: Words = ""
    weights: Annotated[list[Weight], Field(max_length=MOST_CLASSES)] = []
    budget: Amount | None = None
    cap: Amount | None = None
    places: Annotated[int, Field(ge=1, le=100_000)] = 1000
    reputation_weight: Weight = 0.5
    price_weight: Weight = 1.0
    coverage_weight: Weight = 1.0
    sufficiency_weight: Weight = 1.0
    mechanism: Mechanism = "critical"
    partial: bool = False
    rounds: Annotated[int, Field(ge=1, le=1000)] = 10
    closes_at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)] | None = None


class Step(BaseModel):
    """A step in a task's life."""

    at: float
    status: Status
    reason: str


class TaskOut(BaseModel):
    """A task and where it stands."""

    id: int
    at: float
    owner: int
    status: Status
    title: str
    about: str
    ground: str
    quotas: list[int]
    weights: list[float]
    budget: int | None
    reserve_price: int
    cap: int | None
    places: int
    reputation_weight: float
    price_weight: float
    coverage_weight: float
    sufficiency_weight: float
    mechanism: Mechanism
    partial: bool
    rounds: int
    commission: int
    closes_at: float | None


class TaskWhole(TaskOut):
    """A task with its steps."""

    steps: list[Step]
    bidders: int


class Because(Shape):
    """Why."""

    reason: Reason


class BidIn(Shape):
    """What a client asks for its part in the whole task."""

    price: Annotated[int, Field(ge=0, le=LARGEST)]


class BidOut(BaseModel):
    """A bid in force; without a price it is withdrawn."""

    id: int
    at: float
    task: int
    party: int
    price: int | None


class Outcome(BaseModel):
    """What came of an auction."""

    mechanism: str
    winners: int
    spent: int
    paid: int
    overrun: int
    unmet: dict[str, int]
    failed: str | None


class CohortOut(BaseModel):
    """What a task owner learns of its cohort: nothing about a single client."""

    task: int
    bidders: int
    winners: int
    asked: int
    paid: int
    commission: int
    mean_reputation: float | None
    held: list[int]
    unmet: dict[str, int]


class Explanation(BaseModel):
    """One bidder's part in an auction."""

    task: int
    party: int
    price: int
    reputation: float
    value: float
    score: float | None
    rank: int | None
    verdict: str
    critical: int | None
    won: bool
    payment: int


class RoundOut(BaseModel):
    """A round of training."""

    round: int
    at: float
    asked: int
    answered: int
    used: int
    accuracy: float | None
    loss: float | None


class EventOut(BaseModel):
    """Something that bears on a reputation."""

    number: int
    at: float
    kind: Literal["joined", "honest", "dishonest", "missed", "overturned"]
    reason: str
    task: int | None
    round: int | None
    overturns: int | None


class ReputationOut(BaseModel):
    """A reputation now, and the events that it comes from."""

    party: int
    value: float
    events: list[EventOut]


class AppealIn(Shape):
    """A penalty, by the event's number, or a valuation, by the task's."""

    about: Literal["penalty", "valuation"]
    number: Number
    words: Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=LINES)]


class AppealOut(BaseModel):
    """An appeal and what was decided."""

    id: int
    at: float
    party: int
    about: Literal["penalty", "valuation"]
    task: int | None
    event: int | None
    words: str
    granted: bool | None
    reason: str | None
    decided_at: float | None


class RulingIn(Shape):
    """What the network owner decides. A valuation that is granted needs the counts that are right."""

    granted: bool
    reason: Reason
    counts: Counts | None = None


class Made(BaseModel):
    """The number of what was made."""

    id: int


class RulesOut(BaseModel):
    """The rules of the market, which everybody may know."""

    commission: int
    reward: float
    penalty: float
    decay: float
    welcome: float


class LogEntry(BaseModel):
    """An entry of the audit log."""

    number: int
    at: float
    actor: int
    action: str
    wrote: str
    digest: str
    hash: str


class Verdict(BaseModel):
    """Whether all holds."""

    holds: bool
    problems: list[str]


class Health(BaseModel):
    """That the service answers."""

    status: Literal["ready"]
    version: str
