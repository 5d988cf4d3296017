"""A small HTTP server in front of a Redis: `front.py PORT REDIS_HOST:PORT`.

GET /count, GET /keys/N, and POST /fill with {"keys": N}, which writes the keys 1 to N.
"""

import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST, PORT = sys.argv[2].rsplit(":", 1)
# Each connection of a client has its own thread, and with it its own connection to Redis.
LOCAL = threading.local()


def ask(*commands):
    """Sends commands in one go; returns the replies, of which none is a list."""
    if not hasattr(LOCAL, "stream"):
        connection = socket.create_connection((HOST, int(PORT)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        LOCAL.stream = connection.makefile("rwb")
    for command in commands:
        words = [str(word).encode() for word in command]
        LOCAL.stream.write(b"*%d\r\n" % len(words))
        for word in words:
            LOCAL.stream.write(b"$%d\r\n%s\r\n" % (len(word), word))
    LOCAL.stream.flush()
    return [reply() for _ in commands]


def reply():
    line = LOCAL.stream.readline().rstrip(b"\r\n")
    if not line or line[:1] == b"-":
        raise ConnectionError(line.decode() or "Redis closed the connection")
    if line[:1] != b"$":
        return line[1:].decode()
    length = int(line[1:])
    return None if length < 0 else LOCAL.stream.read(length + 2)[:-2].decode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # The head and the body of a response leave together.
    wbufsize = -1

    def do_GET(self):
        if self.path == "/count":
            self.answer(200, ask(["DBSIZE"])[0])
        elif self.path.startswith("/keys/"):
            value = ask(["GET", "key:" + self.path.removeprefix("/keys/")])[0]
            self.answer(404 if value is None else 200, value or "no such key")
        else:
            self.answer(404, "no such path")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        keys = int(json.loads(body)["keys"])
        ask(*(["SET", f"key:{n}", f"value {n}"] for n in range(1, keys + 1)))
        self.answer(201, f"{keys} keys")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
