"""A service that answers only requests with the right credentials, and echoes what it received.

Usage: guarded.py PORT
Its environment has PASSWORD and WANTED, the value of `Authorization` that it wants. It prints both.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Guarded(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length).decode()
        print(self.path, self.headers.get("Authorization"), flush=True)
        allowed = self.headers.get("Authorization") == os.environ["WANTED"]
        text = f"{self.path}\n{self.headers}\n{body}\n".encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


print("password", os.environ.get("PASSWORD"), flush=True)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Guarded).serve_forever()
