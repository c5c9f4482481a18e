# SPDX-License-Identifier: GPL-2.0
"""Send bytes over QUIC, with aioquic.

    transfer.py server ADDRESS [--congestion-control reno|cubic]
    transfer.py client ADDRESS BYTES

The client prints the bytes, the seconds from its first packet to the last byte, and their ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import ssl
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PORT = 4433
#: QUIC's own flow control must not limit the transfer.
WINDOW = 1 << 26


def configuration(*, client: bool, congestion_control: str = "cubic") -> QuicConfiguration:
    """Return settings for one end, with windows that are never full."""
    return QuicConfiguration(
        is_client=client,
        alpn_protocols=["transfer"],
        max_data=WINDOW,
        max_stream_data=WINDOW,
        congestion_control_algorithm=congestion_control,
        verify_mode=ssl.CERT_NONE,
    )


def certify(settings: QuicConfiguration) -> None:
    """Give a server a new key and a certificate that it signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "transfer")])
    now = datetime.datetime.now(datetime.UTC)
    settings.private_key = key
    settings.certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as many bytes as the client asks for."""
    writer.write(bytes(int(await reader.read())))
    writer.write_eof()


async def server(address: str, congestion_control: str) -> None:
    """Serve until the process ends."""
    settings = configuration(client=False, congestion_control=congestion_control)
    certify(settings)
    tasks = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(answer(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await serve(address, PORT, configuration=settings, stream_handler=begin)
    await asyncio.Event().wait()


async def client(address: str, wanted: int) -> None:
    """Ask for bytes, read them, and print how long that took."""
    begin = time.monotonic()
    async with connect(
        address,
        PORT,
        configuration=configuration(client=True),
        create_protocol=QuicConnectionProtocol,
    ) as connection:
        reader, writer = await connection.create_stream()
        writer.write(str(wanted).encode())
        writer.write_eof()
        received = 0
        while data := await reader.read(1 << 20):
            received += len(data)
    seconds = time.monotonic() - begin
    if received != wanted:
        raise SystemExit(f"{received} bytes of {wanted}")
    print(f"{received} bytes in {seconds:.6f} s: {received * 8 / seconds / 1e6:.3f} Mb/s")


def main() -> None:
    """Be one end of the transfer."""
    parser = argparse.ArgumentParser()
    roles = parser.add_subparsers(dest="role", required=True)
    one = roles.add_parser("server")
    one.add_argument("address")
    one.add_argument("--congestion-control", choices=("reno", "cubic"), default="cubic")
    other = roles.add_parser("client")
    other.add_argument("address")
    other.add_argument("bytes", type=int)
    args = parser.parse_args()
    asyncio.run(
        server(args.address, args.congestion_control)
        if args.role == "server"
        else client(args.address, args.bytes)
    )


if __name__ == "__main__":
    main()
