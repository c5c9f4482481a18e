# SPDX-License-Identifier: GPL-2.0
"""Every direction of an access link is loaded, beside calls, name look-ups, pages and video.

flent's test RRUL (Real-time Response Under Load) has four TCP flows each way and measures the
delay of small packets. Here the other traffic is added, so that one run says what a household
notices. Look-ups are UDP; a lost one counts as unfinished, because nothing is sent again. Adaptive
video takes rates of a ladder by the player's buffer: lab/traffic/flowgen/video.c.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise

from aqmlab.exceptions import UserError
from aqmlab.run import flows
from aqmlab.run.flows import UDP_HEADER, tcp_keys
from aqmlab.run.group import Group
from aqmlab.run.packets import ETHERNET_HEADER, IP_HEADER
from aqmlab.run.params import Param
from aqmlab.run.scenario import Scenario
from aqmlab.run.settings import BOTTLENECK, TCP, TIME_FLOWGEN, Settings, access, with_defaults

RUNGS = 32  # as in lab/traffic/flowgen/video.c

PARAMS = (
    Param("down", 4, "flows", "TCP flows through the measured bottleneck", 0, 1000),
    Param("up", 4, "flows", "TCP flows the other way", 0, 1000),
    Param("rtt", 30.0, "ms", "round-trip time of all traffic but the probe", 0.0, 10e3),
    Param("lookups", 1, "clients", "hosts that look up names by UDP", 0, 1000),
    Param("lookup_gap", 100.0, "ms", "mean time between the look-ups of a host", 1.0, 60e3),
    Param("answer", 120, "bytes", "payload of an answer to a look-up", 8, 1400),
    Param("pages", 1, "clients", "hosts that load pages, each on a new connection", 0, 1000),
    Param("page", 500.0, "kB", "size of a page", 0.1, 1e6),
    Param("page_gap", 1.0, "s", "mean time between a page and the next one", 0.01, 3600.0),
    Param(
        "connections",
        1,
        "connections",
        "of a host for a page, which has as many equal parts, asked for at once",
        1,
        32,
    ),
    Param(
        "keep",
        "off",
        "",
        "on: a host keeps its connections for all its pages",
        choices=("off", "on"),
    ),
    Param("videos", 1, "clients", "hosts that play video, in segments on one connection", 0, 1000),
    Param(
        "video",
        "fixed",
        "",
        "adaptive: the player chooses a rate of the ladder for each segment",
        choices=("fixed", "adaptive"),
    ),
    Param("video_rate", 3.0, "Mb/s", "rate of a video", 0.01, 10e3, needs=(("video", ("fixed",)),)),
    Param(
        "ladder",
        "0.3,0.75,1.2,1.85,2.85,4.3",
        "Mb/s",
        "rates of adaptive video, rising",
        needs=(("video", ("adaptive",)),),
    ),
    Param(
        "play_buffer",
        30.0,
        "s",
        "most that a player of adaptive video holds",
        1.0,
        3600.0,
        needs=(("video", ("adaptive",)),),
    ),
    Param("segment", 2.0, "s", "length of a segment of video", 0.1, 60.0),
    access(0.0),
)


def _ladder(settings: Settings) -> list[int]:
    """Return the rates of adaptive video, bit/s. Raises UserError."""
    text = settings.text("ladder")
    try:
        rates = [round(float(word) * 1e6) for word in text.split(",")]
    except ValueError:
        rates = []
    if not rates or rates[0] <= 0 or any(low >= high for low, high in pairwise(rates)):
        raise UserError(f'ladder: "{text}" given, needs rising rates in Mb/s, as in 0.5,1,2')
    if len(rates) > RUNGS:
        raise UserError(f"ladder: {len(rates)} rates given, at most {RUNGS} are possible")
    return rates


def _adaptive(settings: Settings) -> list[Group]:
    """Return a group of players whose rate adapts, in a list. Raises UserError."""
    rates, segment_s = _ladder(settings), settings.number("segment")
    if settings.number("play_buffer") < 2 * segment_s:
        raise UserError(
            f"play_buffer: {settings.number('play_buffer'):g} s given, needs two segments of "
            f"{segment_s:g} s or more"
        )
    return _clients(
        settings,
        "videos",
        [{"ladder": ",".join(map(str, rates))}] * settings.count("videos"),
        rates[-1] / settings.payload,
        settings.payload,
        kind="video",
        segment_ns=round(segment_s * 1e9),
        buffer_ns=round(settings.number("play_buffer") * 1e9),
    )


def _session(
    settings: Settings, rng: random.Random, gap_s: float, size: int, *, regular: bool = False
) -> dict[str, int | str]:
    """Return a client's key: enough requests of one size for the whole run."""
    words, left = [], settings.end_ms / 1000
    while left > 0:
        gap = gap_s if regular else rng.expovariate(1 / gap_s)
        left -= gap
        words.append(f"{0 if regular else round(gap * 1e9)}:{size}")
    return {"requests": ",".join(words)}


def _page_sessions(
    settings: Settings, rng: random.Random, parts: int, page: int
) -> list[dict[str, int | str]]:
    """Return the key of each connection of a host that loads pages.

    With several connections, page k is due at a random time of the k-th gap, on all of them.
    """
    gap_s = settings.number("page_gap")
    if parts == 1:
        return [_session(settings, rng, gap_s, page)]
    size = max(1, round(page / parts))
    count = math.ceil(settings.end_ms / 1000 / gap_s)
    words = [f"{round(rng.uniform(0, gap_s) * 1e9)}:{size}" for _ in range(count)]
    return [{"requests": ",".join(words)}] * parts


def _clients(
    settings: Settings,
    name: str,
    each: list[dict[str, int | str]],
    demand_bps: float,
    payload: float,
    **flow: int | str,
) -> list[Group]:
    """Return a group of clients that ask, in a list; an empty list without clients."""
    tcp = flow["kind"] != "query"
    return [
        Group(
            name=name,
            start_ns=[0] * len(each),
            rtt_ms=settings.number("rtt"),
            access_bps=0,
            congestion_control=settings.congestion_control if tcp else "",
            flow={
                **(tcp_keys(settings) | {"notsent": 0, "source_port": 80} if tcp else {}),
                **flow,
            },
            each=each,
            demand_bps=demand_bps,
            payload=payload,
            elastic=False,
        )
    ][: len(each)]


def groups(settings: Settings, rng: random.Random) -> list[Group]:
    """Return the groups `down`, `up`, `lookups`, `pages` and `videos`."""
    rtt_ms, number = settings.number("rtt"), settings.number
    answer, page = settings.count("answer"), round(number("page") * 1000)
    segment = max(1, round(number("video_rate") * 1e6 / 8 * number("segment")))
    packet = answer + IP_HEADER[settings.ip] + UDP_HEADER + ETHERNET_HEADER
    gap_s = number("lookup_gap") / 1000
    asked = [_session(settings, rng, gap_s, answer) for _ in range(settings.count("lookups"))]
    parts = settings.count("connections")
    loaded = [
        session
        for _ in range(settings.count("pages"))
        for session in _page_sessions(settings, rng, parts, page)
    ]
    played = [
        _session(settings, rng, number("segment"), segment, regular=True)
        for _ in range(settings.count("videos"))
    ]
    return [
        *flows.bulk(settings, rng, "down", settings.count("down"), rtt_ms),
        *flows.bulk(settings, rng, "up", settings.count("up"), rtt_ms, reverse=True),
        *_clients(settings, "lookups", asked, packet * 8 / gap_s, answer / packet, kind="query"),
        *_clients(
            settings,
            "pages",
            loaded,
            page / parts * 8 / number("page_gap") / settings.payload,
            settings.payload,
            kind="web",
            **({"every_ns": round(number("page_gap") * 1e9)} if parts > 1 else {}),
            **({"keep": 1} if settings.on("keep") else {}),
        ),
        *(
            _adaptive(settings)
            if settings.text("video") == "adaptive"
            else _clients(
                settings,
                "videos",
                played,
                number("video_rate") * 1e6 / settings.payload,
                settings.payload,
                kind="web",
                keep=1,
                every_ns=round(number("segment") * 1e9),
            )
        ),
    ]


SCENARIO = Scenario(
    "rrul",
    "downloads and uploads over an access link, beside a call, look-ups, pages and video",
    (
        *PARAMS,
        *with_defaults(BOTTLENECK, rate=40.0, rate_back=10.0),
        *with_defaults(TCP, tcp_profile="today"),
        *with_defaults(TIME_FLOWGEN, warmup=5.0, duration=15.0, probe="on"),
    ),
    groups,
)
