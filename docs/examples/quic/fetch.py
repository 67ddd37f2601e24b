# SPDX-License-Identifier: Apache-2.0
"""Fetches ten pages, each over a connection of its own: fetch.py quic|tls HOST"""

import asyncio
import ssl
import sys
import time
from contextlib import AsyncExitStack

from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration

PORT = 4433
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def by_quic(host: str, connections: AsyncExitStack) -> Streams:
    settings = QuicConfiguration(alpn_protocols=["page"], verify_mode=ssl.CERT_NONE)
    session = connect(host, PORT, configuration=settings)
    client = await connections.enter_async_context(session)
    return await client.create_stream()


async def by_tls(host: str, connections: AsyncExitStack) -> Streams:
    settings = ssl.create_default_context()
    settings.check_hostname, settings.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(host, PORT, ssl=settings)
    connections.callback(writer.close)
    return reader, writer


async def main(protocol: str, host: str) -> None:
    begin = by_quic if protocol == "quic" else by_tls
    async with AsyncExitStack() as connections:
        for number in range(10):
            began = time.monotonic()
            reader, writer = await begin(host, connections)
            writer.write(b"get")
            page = await reader.read()
            print(number, len(page), f"{time.monotonic() - began:.3f} s", flush=True)


asyncio.run(main(*sys.argv[1:]))
