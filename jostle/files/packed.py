"""Gzipped files: unpacked up to a bound, since a thousandth of a file's size is enough to pack it."""

from __future__ import annotations

import zlib

from jostle.files.damage import DamageError

__all__ = ["unpacked"]

PIECE = 2**16


def unpacked(data: bytes, most_bytes: int) -> tuple[bytes, int]:
    """The content of a gzipped file, and how long its whole members are; a last one cut short is left out.

    What is added to a file at once is a member of its own.
    """
    found: list[bytes] = []
    whole = at = length = 0
    while at < len(data):
        member, parts = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), []
        while at < len(data) and not member.eof:
            # In pieces, since whatever follows a member is copied.
            piece = data[at : at + PIECE]
            try:
                parts.append(member.decompress(piece))
            except zlib.error:
                raise DamageError("is not gzipped, or was damaged since") from None
            at += len(piece) - len(member.unused_data)
            length += len(parts[-1])
            if length > most_bytes:
                raise DamageError(f"unpacks to more than {most_bytes:,} bytes")
        if member.eof:
            found.extend(parts)
            whole = at
    return b"".join(found), whole
