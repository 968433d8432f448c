# SPDX-License-Identifier: GPL-2.0
"""Reads protobuf messages without their schema, by the wire format (protobuf.dev/programming-guides/encoding): a tag is
the field's number and 3 bits of wire type. Type 0 is a varint and type 2 a length and bytes; no other type is used."""

import typing


def read_varint(data: bytes, pos: int) -> typing.Tuple[int, int]:
    """The value of a varint, and the position after it."""
    value = shift = 0
    while True:
        value |= (data[pos] & 0x7F) << shift
        pos, shift = pos + 1, shift + 7
        if not data[pos - 1] & 0x80:
            return value, pos


def read_fields(data: bytes) -> typing.Iterator[typing.Tuple[int, typing.Union[int, bytes]]]:
    """The field numbers and values of a protobuf message."""
    pos = 0
    while pos < len(data):
        tag, pos = read_varint(data, pos)
        value, pos = read_varint(data, pos)
        if tag & 7 == 2:
            yield tag >> 3, data[pos:pos + value]
            pos += value
        else:
            assert tag & 7 == 0, tag
            yield tag >> 3, value
