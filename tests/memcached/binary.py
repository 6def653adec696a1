# SPDX-License-Identifier: Apache-2.0
"""Requests of the binary protocol, and the packets of an answer."""
import struct

HEADER = struct.Struct(">BBHBBHIIQ")
GET, SET, ADD, REPLACE, DELETE, INCR, DECR, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ, APPEND, PREPEND, STAT = range(17)
SETQ, ADDQ, REPLACEQ, DELETEQ, INCRQ, DECRQ, QUITQ, FLUSHQ, APPENDQ, PREPENDQ = range(17, 27)
VERBOSITY, TOUCH, GAT, GATQ, SASL_LIST, SASL_AUTH, SASL_STEP, GATK, GATKQ = 0x1b, 0x1c, 0x1d, 0x1e, 0x20, 0x21, 0x22, 0x23, 0x24


def request(opcode, key=b"", extras=b"", value=b"", cas=0, opaque=0, magic=0x80, datatype=0, vbucket=0, body=None):
    """body: length of the body as the header has it, when it is not the true one."""
    length = len(extras) + len(key) + len(value) if body is None else body
    return HEADER.pack(magic, opcode, len(key), len(extras), datatype, vbucket, length, opaque, cas) + extras + key + value


def put(opcode, key, value=b"", flags=0, exptime=0, **more):
    return request(opcode, key, struct.pack(">II", flags, exptime), value, **more)


def delta(opcode, key, amount=1, initial=0, exptime=0xffffffff, **more):
    return request(opcode, key, struct.pack(">QQI", amount, initial, exptime), **more)


def touch(opcode, key, exptime, **more):
    return request(opcode, key, struct.pack(">I", exptime), **more)


def packets(data):
    """Of an answer: (opcode, status, opaque, CAS id, extras, key, value); what is no packet comes as bytes at the end."""
    found, at = [], 0
    while len(data) - at >= HEADER.size:
        magic, opcode, key, extras, datatype, status, body, opaque, cas = HEADER.unpack_from(data, at)
        end = at + HEADER.size + body
        if magic != 0x81 or datatype != 0 or end > len(data):
            break
        text = data[at + HEADER.size:end]
        found.append((opcode, status, opaque, cas, text[:extras], text[extras:extras + key], text[extras + key:]))
        at = end
    return found + ([data[at:]] if at < len(data) else [])
