"""Kills a server of the key-value store under load again and again, and holds it to what it has promised.

    kv_kill.py BENCHWRIGHT FOLDER KILLS SEED checkpoint|none

Several sessions add to random keys. After each kill the server is started again with its folder. With checkpoints it
must have of each session exactly the operations that WELCOME tells, and at least those that DURABLE has told before;
what is lost is sent again, so that in the end every operation has happened once. Without durability it must be empty.
"""
import collections
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

from kv_client import ADD, NOT_FOUND, OK, PENDING, READ, Connection, Refused, frame, pad

CLIENTS, KEYS, BATCH, PIPELINE = 3, 10_000, 100, 4
SESSION_UNKNOWN, ENDING = 20, 28
# As little as the server takes, so that the log is read from disk and compacted.
SIZES = ["--threads", "2", "--buckets", "4096", "--memory", "16MiB", "--log-limit", "24MiB"]


def words(numbers):
    return b"".join(struct.pack("<Q", number) for number in numbers)


class Server:
    def __init__(self, program, folder, durability):
        arguments = ["kv", "serve", "--ip", "127.0.0.1:0", "--durability", durability, "--checkpoint-every", "50ms"]
        self.process = subprocess.Popen(
            [program, *arguments, *SIZES], cwd=folder, text=True, stdout=subprocess.PIPE,
            stderr=open(os.path.join(folder, "stderr.txt"), "a"))
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], f"exit code {self.process.wait()}; see stderr.txt"
        self.address, self.recovered = ready[1], ready[-1].removeprefix("recovered=")

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)


class Client:
    """One session, and the operations of which nothing durable is known yet."""

    def __init__(self, seed):
        # The sums of the additions that are known to survive, by key: of this session, which one thread executes.
        self.chance, self.settled = random.Random(seed), collections.Counter()
        self.session = self.through = self.made = 0
        self.sent, self.again, self.failure = {}, [], None

    def settle(self, through, excepted):
        assert self.through <= through, f"{self.through} operations were durable, and now {through}"
        self.through, excepted = through, set(excepted)
        for serial in [s for s in self.sent if s <= through and s not in excepted]:
            key, delta = self.sent.pop(serial)
            self.settled[key] += delta

    def resume(self, address):
        """Connects to a server that was started anew: what it does not have is to be sent again."""
        self.connection = Connection(address)
        try:
            welcome = self.connection.hello(self.session, PIPELINE)
        except Refused as refused:
            assert refused.code == SESSION_UNKNOWN and self.through == 0, refused
            self.connection = Connection(address)
            welcome = self.connection.hello(0, PIPELINE)
        assert welcome.executed == welcome.through, welcome
        self.settle(welcome.through, welcome.excepted)
        self.view, self.session, self.next = welcome.view, welcome.session, welcome.executed + 1
        # First what was executed behind the checkpoint, then what was pending: `sent` is in order.
        lost = sorted(self.sent, key=lambda serial: (serial <= welcome.executed, serial))
        self.again = [self.sent.pop(serial) for serial in lost] + self.again

    def batch(self, is_last):
        ops, self.again = self.again[:BATCH], self.again[BATCH:]
        while len(ops) < BATCH and not is_last:
            ops.append((self.chance.randrange(KEYS), self.chance.randint(1, 9)))
            self.made += 1
        return ops

    def work(self, is_last):
        """Adds until the connection breaks, or until nothing is left to be sent again."""
        open_batches = {}
        while True:
            while len(open_batches) < PIPELINE and (ops := self.batch(is_last)):
                body = pad(bytes([ADD]) * len(ops)) + words(key for key, _ in ops) + words(delta for _, delta in ops)
                self.sent.update(enumerate(ops, self.next))
                open_batches[self.next] = len(ops)
                request = frame(0x10, self.view, len(ops), self.next, body)
                self.next += len(ops)
                self.connection.socket.sendall(request)
            if not open_batches:
                return
            kind, _, count, serial, body, _ = self.connection.receive()
            if kind == 0x18:
                assert set(body[:count]) <= {OK, PENDING}, body[:count]
                self.end_of(serial, open_batches, body[:count].count(OK))
            elif kind == 0x1A:
                for at in range(0, len(body), 24):
                    serial, status = struct.unpack_from("<QB", body, at)
                    assert status == OK, status
                    self.end_of(serial, open_batches, 1)
            elif kind == 0x1C:
                through, *excepted = struct.unpack_from(f"<{1 + count}Q", body)
                self.settle(through, excepted)
            else:
                raise Refused(body)

    def end_of(self, serial, open_batches, count):
        first = max(first for first in open_batches if first <= serial)
        open_batches[first] -= count
        if open_batches[first] == 0:
            del open_batches[first]

    def run(self, is_last):
        try:
            self.work(is_last)
        except (OSError, EOFError) as broken:
            self.failure = broken if is_last else None
        except Refused as refused:
            self.failure = refused if is_last or refused.code != ENDING else None
        except Exception as wrong:
            self.failure = wrong


def next_of(connection):
    """Receives the next frame that is not DURABLE, which may come between any."""
    while True:
        kind, _, count, _, body, _ = connection.receive()
        if kind != 0x1C:
            return kind, count, body


def check(address, clients):
    """Reads all keys, and compares them with the operations that are known to have survived."""
    settled = sum((client.settled for client in clients), collections.Counter())
    connection = Connection(address)
    view, serial, values = connection.hello().view, 1, {}
    for first in range(0, KEYS, 1000):
        keys = range(first, first + 1000)
        body = pad(bytes([READ]) * 1000) + words(keys)
        connection.socket.sendall(frame(0x10, view, 1000, serial, body))
        kind, count, body = next_of(connection)
        assert kind == 0x18, kind
        at, pending = count, set()
        for number, status in enumerate(body[:count]):
            if status == OK:
                values[keys[number]], at = struct.unpack_from("<Q", body, at)[0], at + 8
            elif status == PENDING:
                pending.add(serial + number)
            else:
                assert status == NOT_FOUND, status
        while pending:
            kind, _, body = next_of(connection)
            assert kind == 0x1A, kind
            at = 0
            while at < len(body):
                number, status, length = struct.unpack_from("<QB3xI", body, at)
                pending.remove(number)
                if status == OK:
                    values[keys[number - serial]] = struct.unpack_from("<Q", body, at + 16)[0]
                else:
                    assert status == NOT_FOUND, status
                at += 16 + length
        serial += 1000
    wrong = [k for k in range(KEYS) if values.get(k, 0) != settled[k]]
    assert not wrong, f"{len(wrong)} keys: {[(k, values.get(k), settled[k]) for k in wrong[:5]]}"


def load(clients, is_last, seconds=0.0, server=None):
    threads = [threading.Thread(target=client.run, args=(is_last,)) for client in clients]
    [thread.start() for thread in threads]
    if server:
        time.sleep(seconds)
        server.end(signal.SIGKILL)
    [thread.join() for thread in threads]
    [client.connection.socket.close() for client in clients]
    for client in clients:
        if client.failure:
            raise client.failure


def main(program, folder, kills, seed, durability):
    chance = random.Random(seed)
    clients = [Client(f"{seed} {number}") for number in range(CLIENTS)]
    server = Server(program, folder, durability)
    try:
        for kill in range(1, kills + 1):
            if durability == "none":
                clients = [Client(f"{seed} {kill} {number}") for number in range(CLIENTS)]
            [client.resume(server.address) for client in clients]
            seconds = chance.uniform(0.02, 1)
            load(clients, False, seconds, server)
            server = Server(program, folder, durability)
            if durability == "none":
                assert server.recovered == "none", server.recovered
                for client in clients:
                    try:
                        assert not Connection(server.address).hello(client.session), "the session is there"
                    except Refused as refused:
                        assert refused.code == SESSION_UNKNOWN, refused
                check(server.address, [])
                print(f"kill {kill} after {seconds:.2f} s: empty", flush=True)
                continue
            [client.resume(server.address) for client in clients]
            [client.connection.socket.close() for client in clients]
            survived = sum(client.through for client in clients)
            again = sum(len(client.again) for client in clients)
            print(f"kill {kill} after {seconds:.2f} s: checkpoint {server.recovered}, {survived} operations survive, "
                  f"{again} are sent again", flush=True)
            check(server.address, clients)
        if durability == "checkpoint":
            [client.resume(server.address) for client in clients]
            load(clients, True)
            assert server.end(signal.SIGTERM) == 0
            server = Server(program, folder, durability)
            [client.resume(server.address) for client in clients]
            assert not any(client.again for client in clients)
            check(server.address, clients)
            print(f"{kills} kills, {sum(client.made for client in clients)} operations, each of them once")
        else:
            print(f"{kills} kills, and an empty store after each")
    finally:
        server.end(signal.SIGKILL)


if __name__ == "__main__":
    program, folder, kills, seed, durability = sys.argv[1:]
    main(program, folder, int(kills), int(seed), durability)
