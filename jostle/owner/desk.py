"""Where people and monitors come: the owner's page and its buttons, the log, metrics, health, a list of the routes.

Who signs in with a token has a cookie from then on, which stands for the token as long as the token is good, eight
hours at most: each time it is looked at again. A button sends a mark that only the page has, so that no other site can
press it. No address lets anybody in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from inspect import getdoc
from typing import Any
from urllib.parse import parse_qs

from attrs import define
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as Message
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from jostle.errors import AccessError, JostleError
from jostle.owner.identity import Asker
from jostle.owner.log import files_of
from jostle.owner.office import Office
from jostle.owner.page import OfficeView, owner_page, sign_in_page

COOKIE = "jostle"
HOURS = 8
MOST_SIGNED_IN = 1000
MOST_FORM, MOST_FIELDS = 1 << 16, 20
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
SEE_OTHER, UNAUTHORISED, FORBIDDEN, BROKEN = 303, 401, 403, 503


@define(eq=False)
class SignedIn:
    """Somebody who signed in at the page."""

    asker: Asker
    mark: str
    """Goes with every form of theirs."""
    until: float
    said: str = ""
    """What was done last, to be shown once."""


class Desk:
    """The page's side of an office."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._signed_in: dict[str, SignedIn] = {}
        self._lock = threading.Lock()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Counts(office))

    def routes(self) -> list[BaseRoute]:
        """All that it answers."""
        return [
            Route("/", self.page, methods=["GET"]),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
            Route("/decide", self.decide, methods=["POST"]),
            Route("/share", self.share, methods=["POST"]),
            Route("/revoke-share", self.revoke_share, methods=["POST"]),
            Route("/log", self.log, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/health", self.health, methods=["GET"]),
            Route("/openapi.json", self.openapi, methods=["GET"]),
        ]

    async def page(self, message: Message) -> Response:
        """The owner's page, for an owner or an auditor; a form to sign in, for anybody else."""
        return await run_in_threadpool(self._page, message)

    async def sign_in(self, message: Message) -> Response:
        """Sign in with a token, as a form of the page sends it."""
        form = await _form_of(message)
        return await run_in_threadpool(self._sign_in, message, form.get("token", "").strip())

    async def sign_out(self, message: Message) -> Response:
        """Forget who signed in."""
        return await self._done(message, lambda _, __: None)

    async def decide(self, message: Message) -> Response:
        """Approve or refuse a request that waits."""

        def act(asker: Asker, form: Mapping[str, str]) -> str:
            self._office.check(asker, "approve")
            approve = form.get("decision") == "approve"
            number = _number(form)
            self._office.decide(number, approve=approve, reason=form.get("reason", "").strip(), by=asker.name)
            return f"request {number} is {'approved' if approve else 'refused'}"

        return await self._done(message, act)

    async def share(self, message: Message) -> Response:
        """Give a share of a promise."""

        def act(asker: Asker, form: Mapping[str, str]) -> str:
            self._office.check(asker, "share")
            holder, epsilon = form.get("holder", "").strip(), form.get("epsilon", "").strip()
            share = self._office.give_share(form.get("table", ""), holder, epsilon, by=asker.name)
            return f"{share.holder} has share {share.number} of {share.table}"

        return await self._done(message, act)

    async def revoke_share(self, message: Message) -> Response:
        """Revoke a share, and close all that was opened under it."""

        def act(asker: Asker, form: Mapping[str, str]) -> str:
            self._office.check(asker, "share")
            share = self._office.revoke_share(_number(form), form.get("reason", "").strip(), by=asker.name)
            return f"share {share.number} is revoked"

        return await self._done(message, act)

    async def log(self, message: Message) -> Response:
        """The audit log, line by line, for an owner or an auditor."""

        def read() -> Response:
            self._office.check(self._asker(message), "log")
            lines = b"".join(file.read_bytes() for file in files_of(self._office.log_path))
            return PlainTextResponse(lines, headers=HEADERS, media_type="application/x-ndjson")

        return await run_in_threadpool(_told, read)

    async def metrics(self, message: Message) -> Response:
        """What was decided how often, promises, shares, and how many requests wait, for Prometheus."""

        def read() -> Response:
            self._office.check(self._asker(message), "metrics")
            return PlainTextResponse(generate_latest(self._registry), headers=HEADERS)

        return await run_in_threadpool(_told, read)

    async def health(self, message: Message) -> Response:  # noqa: ARG002 - as routes are called
        """Whether the log can be read; anybody may ask."""

        def look() -> Response:
            with self._office.state():
                return JSONResponse({"status": "good"}, headers=HEADERS)

        return await run_in_threadpool(_told, look)

    async def openapi(self, message: Message) -> Response:
        """What routes there are, as a document of OpenAPI 3.1."""
        return JSONResponse(openapi(message.app.routes, version("jostle")), headers=HEADERS)

    # Who signed in

    def _sign_in(self, message: Message, token: str) -> Response:
        try:
            asker = self._office.asker(token)
            self._office.check(asker, "look")
        except AccessError as refusal:
            page = sign_in_page(said=str(refusal.title), no_collusion=self._office.assume_no_collusion)
            return HTMLResponse(page, UNAUTHORISED, headers=HEADERS)
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            self._signed_in = {
                key: person for key, person in self._signed_in.items() if person.until > time.monotonic()
            }
            while len(self._signed_in) >= MOST_SIGNED_IN:
                del self._signed_in[next(iter(self._signed_in))]
            until = time.monotonic() + HOURS * 3600
            self._signed_in[_digest(cookie)] = SignedIn(asker, secrets.token_urlsafe(32), until)
        reply = RedirectResponse("/", SEE_OTHER, headers=HEADERS)
        secure = self._office.settings.secure or message.url.scheme == "https"
        reply.set_cookie(COOKIE, cookie, max_age=HOURS * 3600, httponly=True, samesite="strict", secure=secure)
        return reply

    def _who(self, message: Message) -> SignedIn | None:
        """Whoever signed in and may still look."""
        cookie = message.cookies.get(COOKIE)
        held = None if cookie is None else self._signed_in.get(_digest(cookie))
        if held is None or held.until <= time.monotonic():
            return None
        self._office.check(held.asker, "look")
        return held

    def _asker(self, message: Message) -> Asker:
        """Whoever sends a message: by a token in its header, or signed in."""
        kind, _, token = message.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._office.asker(token.strip())
        held = self._who(message)
        if held is None:
            raise AccessError("nobody says who asks", fix="Authorization: Bearer TOKEN")
        return held.asker

    def _page(self, message: Message) -> Response:
        try:
            held = self._who(message)
        except AccessError as refusal:
            page = sign_in_page(said=str(refusal.title), no_collusion=self._office.assume_no_collusion)
            return HTMLResponse(page, UNAUTHORISED, headers=HEADERS)
        if held is None:
            return HTMLResponse(sign_in_page(no_collusion=self._office.assume_no_collusion), headers=HEADERS)
        said, held.said = held.said, ""
        return _told(
            lambda: HTMLResponse(
                owner_page(OfficeView.of(self._office), held.asker, held.mark, said=said), headers=HEADERS
            )
        )

    async def _done(self, message: Message, act: Callable[[Asker, Mapping[str, str]], str | None]) -> Response:
        """Do what a form asks for, if it is the page's own; say on the page what was done, or what is wrong."""
        form = await _form_of(message)
        return await run_in_threadpool(self._do, message, form, act)

    def _do(
        self, message: Message, form: Mapping[str, str], act: Callable[[Asker, Mapping[str, str]], str | None]
    ) -> Response:
        try:
            held = self._who(message)
        except AccessError:
            held = None
        if held is None:
            return RedirectResponse("/", SEE_OTHER, headers=HEADERS)
        if not hmac.compare_digest(form.get("mark", "").encode(), held.mark.encode()):
            return PlainTextResponse("this form is not of the page that was shown here\n", FORBIDDEN, headers=HEADERS)
        try:
            said = act(held.asker, form)
        except JostleError as mistake:
            said = f"{mistake.title}: {mistake.why}" if mistake.why else mistake.title
        if said is None:
            with self._lock:
                self._signed_in.pop(_digest(message.cookies.get(COOKIE, "")), None)
        else:
            held.said = said
        return RedirectResponse("/", SEE_OTHER, headers=HEADERS)


class _Counts(Collector):
    """What an office counts: public facts alone, and nothing of this process, as processor time and memory are."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def collect(self) -> Iterable[Any]:
        """Yield each figure as it is now."""
        decided = CounterMetricFamily(
            "jostle_decisions", "Requests, by table and what was decided.", labels=["table", "decision"]
        )
        for (table, decision), count in sorted(self._office.decisions.items()):
            decided.add_metric([table, decision], count)
        yield decided
        view = OfficeView.of(self._office)
        promise, spent, free = (
            GaugeMetricFamily(f"jostle_{name}_epsilon", said, labels=["table"])
            for name, said in (
                ("promised", "The promise."),
                ("spent", "What is spent of it."),
                ("free", "What is left of it, and in no share."),
            )
        )
        for table, (account, left) in view.promises.items():
            for figure, amount in ((promise, account.promise), (spent, account.spent), (free, left)):
                figure.add_metric([table], float(amount))
        yield from (promise, spent, free)
        live = GaugeMetricFamily("jostle_shares", "Live shares.", labels=["table"])
        for table in view.promises:
            live.add_metric([table], sum(share.table == table and not share.revoked for share in view.shares))
        yield live
        waits = sum(request.state == "waiting" for request in view.requests)
        yield GaugeMetricFamily("jostle_waiting", "Requests that wait for the owner.", value=waits)
        yield CounterMetricFamily("jostle_log_lines", "Lines of the audit log.", value=view.lines)


def openapi(routes: Iterable[BaseRoute], of: str) -> dict[str, Any]:
    """A document of what routes there are, in OpenAPI 3.1: the first line of what answers says what it does."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not isinstance(route, Route):
            continue
        summary = (getdoc(route.endpoint) or "").partition("\n")[0]
        for method in sorted((route.methods or set()) - {"HEAD"}):
            paths.setdefault(route.path, {})[method.lower()] = {
                "summary": summary,
                "responses": {
                    "200": {"description": "done"},
                    "401": {"description": "nobody is known by the token"},
                    "403": {"description": "whoever asks may not"},
                },
            }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Jostle, the owner's process", "version": of},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }


def _told(answer: Callable[[], Response]) -> Response:
    """An answer; or what is wrong, in a sentence."""
    try:
        return answer()
    except AccessError as refusal:
        return PlainTextResponse(f"{refusal}\n", UNAUTHORISED, headers=HEADERS)
    except JostleError as mistake:
        return PlainTextResponse(f"{mistake}\n", BROKEN, headers=HEADERS)


async def _form_of(message: Message) -> Mapping[str, str]:
    """The fields of a form, each once."""
    body = b""
    async for part in message.stream():
        body += part
        if len(body) > MOST_FORM:
            return {}
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}


def _number(form: Mapping[str, str]) -> int:
    text = form.get("number", "")
    if not text.isdecimal() or len(text) > 9:
        raise JostleError("there is no such number", fix="go back to the page")
    return int(text)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
