# SPDX-License-Identifier: Apache-2.0
"""Answers each request with a page, by QUIC and by TLS over TCP, both at port 4433."""

import asyncio
import datetime
import ssl
from pathlib import Path

from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PAGE = bytes(5_000)


def certify(file: Path) -> None:
    """Write a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    years = [datetime.datetime(year, 1, 1) for year in (2000, 2200)]
    draft = x509.CertificateBuilder(name, name, key.public_key(), 1, *years)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    certificate = draft.sign(key, hashes.SHA256()).public_bytes(pem)
    file.write_bytes(certificate + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(len("get"))
    writer.write(PAGE)
    if writer.can_write_eof():
        writer.write_eof()
    else:
        writer.close()


async def main() -> None:
    file = Path("certificate.pem")
    certify(file)
    quic = QuicConfiguration(is_client=False, alpn_protocols=["page"])
    quic.load_cert_chain(file)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file)
    answers = set()  # asyncio keeps no task that nobody else does

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers.add(asyncio.ensure_future(answer(reader, writer)))

    await serve("0.0.0.0", 4433, configuration=quic, stream_handler=begin)
    await asyncio.start_server(answer, "0.0.0.0", 4433, ssl=tls)
    print("serving", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
