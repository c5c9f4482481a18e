# SPDX-License-Identifier: GPL-2.0
"""Links whose rate and delay follow a trace.

A trace is a file, either with mahimahi's lines or a CSV. The qdisc in lab/trace
carries it out: bytes of the trace include Ethernet headers, as all rates here do.
"""

from __future__ import annotations

import csv
import itertools
import re
import struct
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from aqmlab.exceptions import UserError

from . import inputs
from .objects import Interface, Qdisc

KIND = "tracelink"
#: The scenario's file whose network is made, and the texts of its settings.
_FILE: ContextVar[tuple[str, Collection[str]]] = ContextVar("file", default=("", ()))
#: What a delivery opportunity of mahimahi carries: a packet of 1500 bytes with its Ethernet header.
OPPORTUNITY = 1514
NO_LIMIT = 2**32 - 1  # bytes in a piece
#: Most of a piece, so that each number has 32 bits, with room for a round trip beside the delay.
MOST_US, MOST_DELAY_US = 2**32 - 1, 4_000_000_000
COLUMNS = ("time_s", "rate_mbps", "delay_ms")

PIECES, AGGREGATE = 1, 3  # netlink attributes
PIECES_PER_LINE = 2000
#: tc's words that set the time at which the trace of a device begins; conduct knows the time.
START = f"qdisc change dev {{}} root handle 1: {KIND} 2 u64 @EPOCH"


@dataclass(frozen=True)
class Piece:
    """Part of a trace: how long it lasts, bytes that the link carries in it, and its delay."""

    us: int
    bytes: int
    delay_us: int = 0


@dataclass(frozen=True)
class Trace:
    """A link over time. After the last piece the first one follows.

    path: of the file, "" without one; file_hash: of its contents
    """

    path: str
    file_hash: str
    pieces: tuple[Piece, ...]

    @property
    def seconds(self) -> float:
        """How long the trace is."""
        return sum(piece.us for piece in self.pieces) / 1e6

    @property
    def has_delay(self) -> bool:
        """Whether the trace adds a delay at any time."""
        return any(piece.delay_us for piece in self.pieces)

    def bytes_until(self, at_s: float) -> float:
        """Return how many bytes the link can carry from the beginning until a time."""
        length_us = sum(piece.us for piece in self.pieces)
        rounds, left_us = divmod(at_s * 1e6, length_us)
        total = rounds * sum(piece.bytes for piece in self.pieces)
        for piece in self.pieces:
            total += piece.bytes * min(max(left_us / piece.us, 0), 1)
            left_us -= piece.us
        return total

    def mean_bps(self, from_s: float, to_s: float) -> float:
        """Return the mean rate between two times, bit/s."""
        return (self.bytes_until(to_s) - self.bytes_until(from_s)) * 8 / (to_s - from_s)

    def without_delay(self) -> Trace:
        """Return a link with the rate of this one."""
        return replace(self, pieces=tuple(Piece(piece.us, piece.bytes) for piece in self.pieces))

    def return_path(self, rtt_ms: float) -> Trace:
        """Return an unlimited link with the delay of this one and a constant delay."""
        return replace(
            self,
            pieces=tuple(
                Piece(piece.us, NO_LIMIT, piece.delay_us + round(rtt_ms * 1000))
                for piece in self.pieces
            ),
        )

    def qdisc(self, at: Interface, aggregate: int = 1) -> Qdisc:
        """Return the qdisc that makes a device such a link.

        aggregate: packets that are sent together, at most
        """
        parts: list[str] = []
        for begin in range(0, len(self.pieces), PIECES_PER_LINE):
            batch = self.pieces[begin : begin + PIECES_PER_LINE]
            data = b"".join(
                struct.pack("=III", piece.us, piece.bytes, piece.delay_us) for piece in batch
            )
            attribute = struct.pack("=HH", 4 + len(data), PIECES) + data
            parts.append(f"{KIND} raw {attribute.hex()}")
        if aggregate > 1:
            parts[0] += struct.pack("=HHI", 8, AGGREGATE, aggregate).hex()
        more = tuple(("qdisc change", f"root handle 1: {part}") for part in parts[1:])
        return Qdisc(at, parts[0], handle="1:", more=more, from_epoch=True)


def constant(rate_bps: float) -> Trace:
    """Return a link whose rate does not change."""
    return Trace("", "", (Piece(100_000, round(rate_bps / 80)),))


@contextmanager
def paths_of(file: str, settings: Collection[str]) -> Iterator[None]:
    """Let paths in a scenario's file count from the file. Paths in its settings count from the
    working directory, because a user types them there.

    file: "" for a scenario of this project
    """
    token = _FILE.set((file, settings))
    try:
        yield
    finally:
        _FILE.reset(token)


def _beside(name: str) -> str:
    """Return the path of a file that a scenario names."""
    file, settings = _FILE.get()
    return name if not file or name in settings else str(Path(file).parent / name)


def read(name: str) -> Trace:
    """Read a file. Raises UserError with the line that is wrong."""
    path = Path(_beside(name))
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"trace {name}: {getattr(error, 'strerror', None) or error}") from error
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise UserError(f"trace {name}: has no line")
    try:
        pieces = _csv(lines) if lines[0][1].startswith(COLUMNS[0]) else _mahimahi(lines)
    except ValueError as error:
        raise UserError(f"trace {name}: {error}; docs/your-own.md shows both formats") from error
    if sum(piece.bytes for piece in pieces) < OPPORTUNITY:
        raise UserError(f"trace {name}: carries less than a packet")
    return Trace(str(path.absolute()), inputs.hash_of(content), tuple(pieces))


def _mahimahi(lines: Sequence[tuple[int, str]]) -> list[Piece]:
    """Each line is the ms at whose end one packet can leave. The last one ends the trace."""
    for number, line in lines:
        if not line.isdecimal():
            raise ValueError(f'line {number}: "{line}" is no whole number of ms')
    times = [int(line) for _, line in lines]
    for (number, line), (before, after) in zip(lines[1:], itertools.pairwise(times), strict=True):
        if after < before:
            raise ValueError(f"line {number}: {line} ms comes after {before} ms")
    # A packet at 0 leaves with those at the end of the round before.
    per_ms = Counter(time or times[-1] for time in times)
    line_of = {time or times[-1]: number for (number, _), time in zip(lines, times, strict=True)}
    pieces, begin = [], 0
    for at in sorted(per_ms):
        if at - 1 > begin:
            pieces.append(_piece(line_of[at], (at - 1 - begin) * 1000, 0))
        pieces.append(_piece(line_of[at], 1000, per_ms[at] * OPPORTUNITY))
        begin = at
    return pieces


def _piece(number: int, us: int, carried: int, delay_us: int = 0) -> Piece:
    """Return a piece. Raises ValueError if a number of it is too large for the qdisc.

    number: of the line that the piece comes from
    """
    if us > MOST_US or carried >= NO_LIMIT or delay_us > MOST_DELAY_US:
        raise ValueError(
            f"line {number}: more than 4 GB or 4294 s between two lines, or a delay above 4000 s"
        )
    return Piece(us, carried, delay_us)


def _csv(lines: Sequence[tuple[int, str]]) -> list[Piece]:
    """Each line holds until the time of the next one. The last one ends the trace."""
    header, *rows = csv.reader((line for _, line in lines), skipinitialspace=True)
    if tuple(header) not in (COLUMNS, COLUMNS[:2]):
        raise ValueError(f"line {lines[0][0]}: needs the columns {','.join(COLUMNS)}")
    values: list[list[float]] = []
    for (number, line), words in zip(lines[1:], rows, strict=True):
        if len(words) != len(header) or not all(re.fullmatch(r"\d+\.?\d*", word) for word in words):
            raise ValueError(f'line {number}: "{line}" needs {len(header)} numbers of 0 or more')
        values.append([*map(float, words)])
    if len(values) < 2 or values[0][0]:
        raise ValueError("needs a line for time 0, and one for the end")
    pieces: list[Piece] = []
    before, total = 0, 0.0
    for (number, _), row, after in zip(lines[1:], values, values[1:], strict=False):
        begin_us, end_us = (round(numbers[0] * 1e6) for numbers in (row, after))
        if end_us <= begin_us:
            raise ValueError(f"line {number}: the line after it has no later time")
        # Rounded in sum, so that no part of a byte is lost in each piece.
        before, total = round(total), total + row[1] * (end_us - begin_us) / 8
        delay_us = round(row[2] * 1000) if len(row) > 2 else 0
        pieces.append(_piece(number, end_us - begin_us, round(total) - before, delay_us))
    return pieces
