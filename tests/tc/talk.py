# SPDX-License-Identifier: GPL-2.0
"""Send netlink requests about disciplines to the kernel, without tc. Runs in the lab as root.

The argument is a list of [kind, {attribute: hexadecimal}, "add" or "change"]. The output has a line
for each: the kernel's [error, message], and the attributes of a dump after it.
"""

from __future__ import annotations

import json
import socket
import struct
import sys

RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC, NLMSG_ERROR, NLMSG_DONE = 36, 37, 38, 2, 3
REQUEST, ACK, DUMP, CREATE, REPLACE = 1, 4, 0x300, 0x400, 0x100
SOL_NETLINK, EXT_ACK, CAP_ACK = 270, 11, 10
TCA_KIND, TCA_OPTIONS, NESTED = 1, 2, 0x8000
ROOT, HANDLE, LO = 0xFFFFFFFF, 0x10000, 1


def attribute(kind: int, content: bytes) -> bytes:
    """Return a netlink attribute with padding."""
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """Return netlink attributes by type."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def ask(sock: socket.socket, kind: int, flags: int, payload: bytes = b"") -> list[bytes]:
    """Send a request. Returns the kernel's messages."""
    tcmsg = struct.pack("=BBHiIII", 0, 0, 0, LO, HANDLE, ROOT, 0)
    length = 16 + len(tcmsg) + len(payload)
    sock.send(struct.pack("=IHHII", length, kind, REQUEST | flags, 1, 0) + tcmsg + payload)
    answers: list[bytes] = []
    while True:
        data = sock.recv(1 << 16)
        while data:
            size, what = struct.unpack_from("=IH", data)
            if what == NLMSG_DONE:
                return answers
            answers.append(data[:size])
            if what == NLMSG_ERROR:
                return answers
            data = data[(size + 3) & ~3 :]


def outcome(answer: bytes) -> tuple[int, str]:
    """Return error and message of an acknowledgement."""
    error = struct.unpack_from("=i", answer, 16)[0]
    extra = attributes(answer[16 + 4 + 16 :]) if len(answer) > 36 else {}
    return -error, extra.get(1, b"\0")[:-1].decode()


def main() -> None:
    """Print one answer per line."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    sock.setsockopt(SOL_NETLINK, EXT_ACK, 1)
    sock.setsockopt(SOL_NETLINK, CAP_ACK, 1)
    sock.bind((0, 0))
    for kind, options, verb in json.loads(sys.argv[1]):
        nest = b"".join(attribute(int(at), bytes.fromhex(text)) for at, text in options.items())
        payload = attribute(TCA_KIND, kind.encode() + b"\0") + attribute(TCA_OPTIONS | NESTED, nest)
        if verb == "add":
            ask(sock, RTM_DELQDISC, ACK)
        answer = ask(sock, RTM_NEWQDISC, ACK | (CREATE if verb == "add" else 0), payload)[0]
        error, message = outcome(answer)
        shown: dict[int, str] = {}
        for found in ask(sock, RTM_GETQDISC, DUMP):
            given = attributes(found[36:])
            if given[TCA_KIND] == kind.encode() + b"\0":
                inner = attributes(given[TCA_OPTIONS])
                shown = {at: value.hex() for at, value in inner.items()}
        print(json.dumps([error, message, shown]), flush=True)


main()
