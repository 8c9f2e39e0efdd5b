"""The keywords of a question, in both spellings, as type checkers see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict


class Asked(TypedDict, total=False):
    """The keywords of one question, in both spellings; what type checkers hold a call against.

    An axis of the dataset's own is an option: ``options={"nagle": "on"}``. As a keyword of its own
    (``nagle="on"``) it is answered just the same, but no type checker can know its name.
    """

    protocol: str
    payload_bytes: float
    payload: str
    rate_fps: float | None
    rate: str | None
    requested_goodput_bps: float | None
    requested_goodput: str | None
    cores: int | None
    switches: int | None
    endpoints: int | None
    other_goodput_bps: float | None
    other_goodput: str | None
    distance_m: float | None
    distance: str | None
    line_rate_bps: float | None
    line_rate: str | None
    cpu_clock_ratio: float | None
    cpu_clock: str | None
    app_send_s: float | None
    app_send: str | None
    app_recv_s: float | None
    app_recv: str | None
    app_send_s_per_byte: float | None
    app_send_per_byte: str | None
    app_recv_s_per_byte: float | None
    app_recv_per_byte: str | None
    options: Mapping[str, str] | None


class AskedMany(TypedDict, total=False):
    """The keywords of many questions: of arrays, or of ranges; `Asked` says what each is."""

    protocol: object
    payload_bytes: object
    payload: object
    rate_fps: object
    rate: object
    requested_goodput_bps: object
    requested_goodput: object
    cores: object
    switches: object
    endpoints: object
    other_goodput_bps: object
    other_goodput: object
    distance_m: object
    distance: object
    line_rate_bps: object
    line_rate: object
    cpu_clock_ratio: object
    cpu_clock: object
    app_send_s: object
    app_send: object
    app_recv_s: object
    app_recv: object
    app_send_s_per_byte: object
    app_send_per_byte: object
    app_recv_s_per_byte: object
    app_recv_per_byte: object
    options: Mapping[str, object] | None
