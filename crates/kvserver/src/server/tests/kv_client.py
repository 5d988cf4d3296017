"""A client of the key-value store, written from docs/book/the-store-on-the-wire.md alone.

    kv_client.py transcripts HOST:PORT FILE     hold the conversations of the file with an empty server
    kv_client.py session HOST:PORT SEED BATCHES  random batches, compared with a dictionary
"""
import collections
import random
import socket
import struct
import sys

READ, UPSERT, ADD, DELETE, READ_AT, WRITE_AT, SCAN = range(1, 8)
OK, NOT_FOUND, PENDING, NOT_OWNER, WRONG_TYPE = range(5)
M64 = (1 << 64) - 1

TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def pad(data):
    return data + bytes(-len(data) % 8)


def frame(kind, view, count, serial, body):
    head = struct.pack("<HBBIIIQI", 0x4B42, 1, kind, 32 + len(body), view, count, serial, 0)
    return head + struct.pack("<I", crc32c(head + bytes(4) + body)) + body


Welcome = collections.namedtuple("Welcome", "view session executed through excepted")


class Refused(Exception):
    """The server has answered with an ERROR, whose code this is."""

    def __init__(self, body):
        self.code, length = struct.unpack_from("<HH", body)
        super().__init__(f"ERROR {self.code}: {body[8:8 + length].decode()}")


class Connection:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=20)

    def exactly(self, length):
        data = b""
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            if not piece:
                raise EOFError("the server has closed the connection")
            data += piece
        return data

    def receive(self):
        head = self.exactly(32)
        magic, version, kind, length, view, count, serial, flags, crc = struct.unpack("<HBBIIIQII", head)
        assert (magic, version, flags) == (0x4B42, 1, 0) and length % 8 == 0, head
        body = self.exactly(length - 32)
        assert crc == crc32c(head[:28] + bytes(4) + body), "checksum"
        return kind, view, count, serial, body, head + body

    def hello(self, session=0, pipeline=2):
        body = struct.pack("<BBBBIQHHI", 1, 1, 0, pipeline, 0xFFFFFFFF, session, 0, 0, 0)
        self.socket.sendall(frame(0x01, 0, 0, 0, body))
        kind, view, count, _, body, _ = self.receive()
        if kind == 0x7F:
            raise Refused(body)
        assert (kind, count, body[0], body[1]) == (0x02, 0, 1, 0), (kind, body)
        session, executed, through = struct.unpack_from("<QQQ", body, 16)
        ranges, excepted = struct.unpack_from("<II", body, 56)
        assert len(body) == 64 + 8 * ranges + 8 * excepted
        excepted = struct.unpack_from(f"<{excepted}Q", body, 64 + 8 * ranges)
        return Welcome(view, session, executed, through, excepted)


def transcripts(address, path):
    connection, held = None, 0
    for line in open(path):
        line = line.strip()
        if line.startswith("#") or not line:
            connection = None
            continue
        connection = connection or Connection(address)
        sign, text = line.split()
        if sign == ">":
            connection.socket.sendall(bytes.fromhex(text))
        else:
            *_, received = connection.receive()
            masked = "".join("??" if text[2 * i:2 * i + 2] == "??" else f"{byte:02x}" for i, byte in enumerate(received))
            assert masked == text, f"received {received.hex()}\ninstead of {text}"
            held += 1
            if received[3] == 0x7F:
                assert connection.socket.recv(1) == b"", "an ERROR is the last frame"
    return held


def fixed(op, model):
    """The expected status and value of an operation on a key of 8 bytes, which it changes in the model."""
    code, key, value = op
    key = struct.pack("<Q", key)
    if code in (READ, DELETE) and key not in model:
        return NOT_FOUND, None
    if code == DELETE:
        del model[key]
    elif code == UPSERT:
        model[key] = struct.pack("<Q", value)
    elif code == ADD:
        old = struct.unpack("<Q", model.get(key, bytes(8)))[0]
        model[key] = struct.pack("<Q", old + value & M64)
    return OK, model[key] if code in (READ, ADD) else None


def sized(op, model):
    code, key, value, offset, length = op
    old = model.get(key)
    if code == UPSERT:
        model[key] = value
    elif code == ADD and old is None:
        model[key] = value
        return OK, value
    elif old is None:
        return NOT_FOUND, b""
    elif code == ADD:
        if len(old) != 8:
            return WRONG_TYPE, b""
        model[key] = struct.pack("<Q", sum(struct.unpack("<QQ", old + value)) & M64)
        return OK, model[key]
    elif code == DELETE:
        del model[key]
    elif code in (READ_AT, WRITE_AT) and len(old) < offset + length:
        return WRONG_TYPE, b""
    elif code == WRITE_AT:
        model[key] = old[:offset] + value + old[offset + length:]
    return OK, old if code == READ else old[offset:offset + length] if code == READ_AT else b""


def xxh3(key):
    """XXH3-64 of a key of 4 to 8 bytes, without a seed."""
    first, last = struct.unpack("<I", key[:4])[0], struct.unpack("<I", key[-4:])[0]
    h = (last + (first << 32)) ^ 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE
    h ^= (h << 49 | h >> 15) & M64 ^ (h << 24 | h >> 40) & M64
    h = h * 0x9FB21C651E98DF25 & M64
    h = (h ^ (h >> 35) + len(key)) * 0x9FB21C651E98DF25 & M64
    return h ^ h >> 28


def place(key):
    return xxh3(key), key


def scan(key, behind, length, model):
    """The expected value of a SCAN."""
    keys = [k for k in model if xxh3(k) >= xxh3(key) and (not behind or place(k) > place(key))]
    keys = sorted(keys, key=place)[:length]
    return b"".join(pad(struct.pack("<HHI", len(k), 0, len(model[k])) + k + model[k]) for k in keys)


def item(op):
    code, key, value, offset, length = op
    part = struct.pack("<II", offset, length) if code >= READ_AT else b""
    return pad(struct.pack("<BBHI", code, 0, len(key), len(value)) + part + key + value)


def random_batch(chance, serial, view, model):
    """A random batch, and the frames of its reply."""
    if chance.random() < 0.2:
        ops = [(SCAN, chance.choice([b"name 7", b"absent", b"12345678"]), b"", chance.randrange(2),
                chance.choice([1, 10, 200])) for _ in range(chance.choice([1, 5]))]
        results = [scan(key, behind, length, model) for _, key, _, behind, length in ops]
        return frame(0x11, view, len(ops), serial, b"".join(map(item, ops))), results, len(ops)
    count = chance.choice([1, 2, 7, 8, 100, 1925])
    if chance.random() < 0.5:
        ops = [(chance.randint(1, 4), chance.randrange(50), chance.getrandbits(64)) for _ in range(count)]
        body = pad(bytes(op[0] for op in ops)) + b"".join(struct.pack("<Q", op[1]) for op in ops)
        body += b"".join(struct.pack("<Q", op[2]) for op in ops if op[0] in (UPSERT, ADD))
        results = [fixed(op, model) for op in ops]
        reply = pad(bytes(status for status, _ in results)) + b"".join(value or b"" for _, value in results)
        return frame(0x10, view, count, serial, body), frame(0x18, view, count, serial, reply), count
    ops = []
    for _ in range(count):
        code, size, value = chance.randint(1, 6), chance.choice([0, 1, 8, 100, 3000]), b""
        offset = length = 0
        if code == UPSERT:
            value = chance.randbytes(size)
        elif code == ADD:
            value = chance.randbytes(8)
        elif code >= READ_AT:
            offset, length = chance.randrange(120), chance.randrange(20)
            value = chance.randbytes(length) if code == WRITE_AT else b""
        ops.append((code, b"name %d" % chance.randrange(50), value, offset, length))
    results = [sized(op, model) for op in ops]
    reply = b"".join(pad(struct.pack("<BBHI", s, 0, 0, len(v)) + v) for s, v in results)
    return frame(0x11, view, count, serial, b"".join(map(item, ops))), (serial, reply), count


def expect(connection, expected, serial, count):
    """Receives the reply to a batch, which may come in several frames if its values have any length, or is
    pending if it is one of scans."""
    if isinstance(expected, bytes):
        *_, received = connection.receive()
        assert received == expected, f"{received.hex()}\n{expected.hex()}"
        return
    if isinstance(expected, list):
        kind, _, _, first, body, _ = connection.receive()
        assert (kind, first, body) == (0x19, serial, struct.pack("<BBHI", PENDING, 0, 0, 0) * count), (kind, body)
        left = dict(enumerate(expected, serial))
        while left:
            kind, _, _, _, body, _ = connection.receive()
            assert kind == 0x1A, kind
            while body:
                number, status, length = struct.unpack_from("<QB3xI", body)
                assert (status, body[16:16 + length]) == (OK, left.pop(number)), number
                body = body[16 + -(-length // 8) * 8:]
        return
    collected, number = b"", 0
    while number < count:
        kind, _, part, first, body, _ = connection.receive()
        assert (kind, first) == (0x19, serial + number), (kind, first)
        collected, number = collected + body, number + part
    assert (collected, number) == (expected[1], count), f"{collected.hex()}\n{expected[1].hex()}"


def session(address, seed, batches):
    chance, model, serial, operations = random.Random(seed), {}, 1, 0
    connection = Connection(address)
    view, own, *_ = connection.hello()
    for _ in range(batches):
        sent, expected, count = random_batch(chance, serial, view, model)
        # Now and then the connection breaks, before or after the reply, and the batch is repeated.
        if chance.random() < 0.2:
            connection.socket.sendall(sent)
            if chance.random() < 0.5:
                expect(connection, expected, serial, count)
            connection.socket.close()
            connection = Connection(address)
            view, again, executed, *_ = connection.hello(own)
            assert again == own and executed in (serial - 1, serial + count - 1), (executed, serial)
        connection.socket.sendall(sent)
        expect(connection, expected, serial, count)
        serial, operations = serial + count, operations + count
    return operations


assert xxh3(bytes(8)) == 0xC77B3ABB6F87ACD9

if __name__ == "__main__":
    what, address, *rest = sys.argv[1:]
    if what == "transcripts":
        print(f"{transcripts(address, rest[0])} frames as expected")
    else:
        print(f"{session(address, int(rest[0]), int(rest[1]))} operations as expected")
