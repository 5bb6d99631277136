"""A real browser, and pages that tell what went wrong in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.waiting import CEILING

PHONE = 390
DESK = 1280


@dataclass
class Watched:
    """What a page said and asked for while it was open."""

    host: str
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)  # beginnings of errors that the test is about

    def hears(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(f"{message.type}: {message.text}")

    def asks(self, request: Any) -> None:
        self.addresses.append(request.url)
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != self.host:
            self.outside.append(request.url)

    @property
    def unexpected(self) -> list[str]:
        return [error for error in self.errors if not any(known in error for known in self.expected)]


@contextmanager
def watched(
    browser: Browser, address: str, *, width: int = DESK, scheme: str = "light", timezone: str = "UTC"
) -> Iterator[tuple[Page, Watched]]:
    """A page that may not say anything wrong, nor ask anybody else."""
    context = browser.new_context(
        viewport={"width": width, "height": 844 if width == PHONE else 800},
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=width == PHONE,
        reduced_motion="reduce",
        timezone_id=timezone,
        locale="en-GB",
    )
    page = context.new_page()
    page.set_default_timeout(CEILING * 1000)
    seen = Watched(urlsplit(address).netloc)
    page.on("console", seen.hears)
    page.on("pageerror", lambda error: seen.errors.append(f"thrown: {error}"))
    page.on("request", seen.asks)
    try:
        yield page, seen
    finally:
        context.close()


def place(address: str, screen: str, user: str | None = None, session: str | None = None) -> str:
    """The address of a screen."""
    ids = [one for one in (user, session if user else None) if one]
    return f"{address}/#/" + "/".join([screen, *(quote(one, safe="") for one in ids)])


def asked_for(page: Page) -> list[str]:
    """The addresses that a page has asked for since it was loaded."""
    found: list[str] = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    return found


# Text that lies over other text, and what sticks out of the page.
LAYOUT = """() => {
  const wide = document.scrollingElement.scrollWidth - innerWidth;
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const open = document.querySelector("dialog[open]");
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    if (open && !open.contains(parent)) continue;
    if (parent.closest("option, select, .hidden-label, .skip, noscript, [data-may-overlap]")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
      for (let box = parent; box; box = box.parentElement) {
        const style = getComputedStyle(box);
        if (style.overflow === "visible" && box !== document.body) continue;
        const limits = box.getBoundingClientRect();
        left = Math.max(left, limits.left); right = Math.min(right, limits.right);
        top = Math.max(top, limits.top); bottom = Math.min(bottom, limits.bottom);
      }
      const text = node.data.trim();
      if (right - left > 2 && bottom - top > 4) found.push({ left, top, right, bottom, text, parent });
    }
  }
  const sticky = (one) => one.parent.closest(".top");
  const over = [];
  found.sort((a, b) => a.top - b.top);
  for (let i = 0; i < found.length && over.length < 10; i++) {
    for (let j = i + 1; j < found.length && found[j].top < found[i].bottom; j++) {
      const [a, b] = [found[i], found[j]];
      if (a.parent === b.parent || sticky(a) !== sticky(b)) continue;
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 3 && y > 5) over.push(`${a.text.slice(0, 40)} | ${b.text.slice(0, 40)}`);
    }
  }
  const out = found.filter((one) => one.right > innerWidth + 1 || one.left < -1).map((one) => one.text.slice(0, 40));
  return { wide, over, out: out.slice(0, 10) };
}"""


def assert_laid_out(page: Page) -> None:
    """Nothing lies over other text, and nothing sticks out of the page."""
    assert page.evaluate(LAYOUT) == {"wide": 0, "over": [], "out": []}
