"""The page in a browser: the whole story, by three people, on a desk and on a phone."""

import re
import shutil

import pytest

from coterie.service.app import create_app
from coterie.service.migrations import migrate
from coterie.service.steward import Steward
from coterie.service.store import Store
from coterie.testing.toy import Toy
from tests.service.serving import served
from tests.service.small import small

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the page is not tested")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on PATH: the page is not tested in a browser")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('page') / 'market.db'}")
    migrate(store)
    made = small(store, money=0)
    with served(create_app(store, Steward(store, lambda settings: Toy(3)))) as made.address:
        yield made


class Person:
    """Somebody at a browser."""

    def __init__(self, chromium, market, who, width=1200):
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, base_url=market.address)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.wrong = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", lambda request: self.wrong.append(request.url))
        self.page.on("request", lambda request: request.url.startswith(market.address) or self.wrong.append(request.url))
        self.page.goto("/")
        self.page.get_by_label("Key").fill(market.keys[who.id])
        self.page.get_by_role("button", name="Enter").click()
        self.page.get_by_role("heading", name="Tasks").wait_for()

    def press(self, name):
        self.page.get_by_role("button", name=name).click()

    def sees(self, text):
        self.page.get_by_text(text).first.wait_for()

    def fits(self):
        """Nothing stands out of the window to the right."""
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.page.viewport_size["width"]


def test_the_whole_story_in_a_browser(chromium, market, tmp_path):
    network, owner = (Person(chromium, market, who) for who in (market.network, market.owner))
    clients = [Person(chromium, market, who, width) for who, width in zip(market.clients, (1200, 400, 400), strict=True)]

    network.page.get_by_role("link", name="Money").click()
    network.page.get_by_text("Book money that came in").click()
    network.page.get_by_label("Amount").first.fill("500")
    network.press("Book it")
    network.sees("All accounts")
    network.page.screenshot(path=tmp_path / "ledger.png", full_page=True)

    owner.page.get_by_role("link", name="Publish a task").click()
    owner.page.get_by_role("textbox", name="Title").fill("Find the cats")
    owner.page.get_by_label("samples").first.fill("100")
    owner.page.get_by_role("textbox", name="Planning budget").fill("70")
    owner.page.get_by_role("textbox", name="Reserve price").fill("no money")
    owner.page.get_by_role("textbox", name="Cap").fill("200")
    owner.page.get_by_role("textbox", name="Rounds").fill("3")
    owner.press("Save as a draft")
    owner.sees("'no money' is no amount")
    assert owner.page.get_by_role("textbox", name="Title").input_value() == "Find the cats"
    owner.page.get_by_role("textbox", name="Reserve price").fill("50")
    owner.press("Save as a draft")
    owner.press(re.compile("Open for bids"))
    owner.sees("End bidding")
    task = owner.page.url.rsplit("/", 1)[1]

    for client, price in zip(clients, ("10", "20.50", "30"), strict=True):
        client.page.goto(f"/tasks/{task}")
        client.page.get_by_label("Your price").fill(price)
        client.page.keyboard.press("Enter")
        client.sees("You ask")
    owner.press("End bidding")
    for person in (owner, *clients):
        person.page.locator(".pill.settled").wait_for()

    first, _, third = clients
    first.page.get_by_role("heading", name="You won").wait_for()
    first.sees("You asked 10.00 and are paid 30.00")
    third.page.get_by_role("heading", name="You did not win").wait_for()
    third.sees("All that is needed was found before your turn came")
    third.page.screenshot(path=tmp_path / "lost.png", full_page=True)
    owner.page.get_by_role("heading", name="Training").wait_for()
    assert owner.page.get_by_role("img", name=re.compile("accuracy")).count() == 1
    assert "Client 0" in owner.page.content() and ">60<" not in owner.page.content()
    owner.page.screenshot(path=tmp_path / "settled.png", full_page=True)

    third.page.get_by_text("Contest what your data was taken for").click()
    third.page.get_by_label("What is wrong").fill("I hold ninety")
    third.press("Appeal")
    network.page.get_by_role("link", name="Appeals").click()
    network.sees("I hold ninety")
    network.page.get_by_label("Reason").fill("counted again")
    network.page.get_by_label("The counts that are right").fill("90, 0")
    network.press("Grant")
    third.page.get_by_role("link", name="Appeals").click()
    third.sees("counted again")
    third.page.get_by_role("link", name="My standing").click()
    third.sees("90 samples")
    first.page.get_by_role("link", name="My standing").click()
    assert first.page.get_by_role("img", name=re.compile("reputation")).count() == 1
    first.page.screenshot(path=tmp_path / "standing.png", full_page=True)

    network.page.get_by_role("link", name="Audit").click()
    network.press("Check everything")
    network.sees("Everything holds")
    for person in (network, owner, *clients):
        assert person.wrong == [], "nothing fails, and nothing is fetched from elsewhere"
        person.context.close()
    assert market.problems() == []


@pytest.mark.parametrize("width", [400, 1200])
def test_every_page_fits_its_window(chromium, market, width):
    for who, paths in (
        (
            market.network,
            ("/", "/people", f"/people/{market.clients[0].id}", "/ledger", "/appeals", "/audit?check=true", "/docs"),
        ),
        (market.owner, ("/", "/tasks/new", "/ledger")),
        (market.clients[0], ("/", f"/people/{market.clients[0].id}", "/ledger", "/appeals")),
    ):
        person = Person(chromium, market, who, width)
        for path in paths:
            person.page.goto(path)
            person.fits()
        person.context.close()


def test_the_page_is_used_with_the_keyboard_alone(chromium, market):
    client = Person(chromium, market, market.clients[0])
    client.page.keyboard.press("Tab")
    assert client.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    reached = []
    for _ in range(8):
        client.page.keyboard.press("Tab")
        reached.append(client.page.evaluate("document.activeElement.textContent.trim()"))
        outline = client.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"'{reached[-1]}' does not show that it has the focus"
    assert {"Tasks", "My standing", "Money", "Appeals", "Leave"} <= set(reached)
    client.context.close()


def test_a_form_from_another_site_is_refused(market):
    import httpx

    cookies = {"coterie_key": market.keys[market.network.id]}
    form = {"name": "Mallory", "role": "client"}
    answer = httpx.post(f"{market.address}/people", data=form, cookies=cookies, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "Mallory" not in httpx.get(f"{market.address}/people", cookies=cookies).text


@pytest.mark.parametrize("path", ["/", "/tasks", "/tasks/1", "/people", "/ledger", "/audit"])
def test_without_a_key_there_is_only_the_door(market, path):
    import httpx

    answer = httpx.get(f"{market.address}{path}")
    assert "Enter with" in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")


def test_what_a_page_is_told_is_never_taken_for_code(market):
    import httpx

    cookies = {"coterie_key": market.keys[market.network.id]}
    name = "<script>alert(1)</script>"
    httpx.post(f"{market.address}/people", data={"name": name, "role": "client"}, cookies=cookies)
    shown = httpx.get(f"{market.address}/people", cookies=cookies).text
    assert name not in shown and "&lt;script&gt;" in shown
