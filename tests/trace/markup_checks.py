"""Pages as a reader of them sees them, and what none of them may do."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "rect", "link", "input", "wbr"}


class Page(HTMLParser):
    """A page as a reader of it sees it: its tags with attributes, its texts, and whether all are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def checked(text: str) -> Page:
    """Return a page that was read; refuse one that runs, fetches or leaves open anything."""
    page = Page(text)
    assert page.open == []
    assert "\x1b" not in text
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "embed", "form", "a", "base"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "href"}]
    assert "url(" not in text
    assert "@import" not in text
    return page
