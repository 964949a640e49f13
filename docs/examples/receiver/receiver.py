#!/usr/bin/env python3
"""Receives webhooks of Holon: verifies each one, takes it once, and forgets what no
longer holds. GET / shows what holds now.

usage: receiver.py HOST:PORT    with the secret of the bridge in HOLON_WEBHOOK_SECRET"""
import base64, hashlib, hmac, http.server, json, os, sys, threading, time

KEY = base64.b64decode(os.environ["HOLON_WEBHOOK_SECRET"].removeprefix("whsec_"))

# In a program that may crash, these are in a database, and are stored before the
# answer: what was answered with 2xx is not sent again.
seen, news, repeated = set(), {}, 0
lock = threading.Lock()

def verified(headers, body):
    """Whether a webhook comes from the bridge, and not from long ago."""
    stamp, ident = headers.get("webhook-timestamp", ""), headers.get("webhook-id", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > 300:
        return False
    mac = hmac.new(KEY, f"{ident}.{stamp}.".encode() + body, hashlib.sha256).digest()
    want = "v1," + base64.b64encode(mac).decode()
    return any(hmac.compare_digest(s.encode(), want.encode())  # two for a day after a rotation
               for s in headers.get("webhook-signature", "").split())

def receive(ident, envelope):
    global repeated
    with lock:
        if ident in seen:
            repeated += 1
            return
        seen.add(ident)
        for old in envelope["supersedes"]:
            news.pop(old, None)
        if envelope["event_type"] not in ("superseded", "test"):
            news[envelope["delivery_id"]] = envelope

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("content-length", 0)), 1 << 20))
        if not verified(self.headers, body):
            return self.answer(401, b"the signature is wrong\n")
        receive(self.headers["webhook-id"], json.loads(body))
        self.answer(200, b"")

    def do_GET(self):
        with lock:
            text = json.dumps({"news": news, "received": len(seen), "repeated": repeated})
        self.answer(200, text.encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

if __name__ == "__main__":
    host, _, port = sys.argv[1].rpartition(":")
    http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
