"""Tests of holon.py: python3 -m unittest -v test_holon (in this folder)."""

import ast
import base64
import hashlib
import json
import math
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

import holon
from holon import Client, HolonError, Marker, Markers, Offline, View, WrongServer, normal_url

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent.parent / "notify" / "fold" / "testdata"

# Of 127.0.0.1, signed by itself, for these tests alone.
KEY = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6Oz9aIyKwiW+b6/L
GjJ8LIYSz/ClM51htUMrdel9zOGhRANCAAQdKAsWeLZpUIg2eeQS1D/AaZ7nVT2q
jxfYIIL9Xgod54Epw9oo9WC34jlGGGNcNMBr7RiOwtwQIS1skr7N3oQM
-----END PRIVATE KEY-----
"""
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBfTCCASSgAwIBAgIBATAKBggqhkjOPQQDAjAdMRswGQYDVQQDExJhIHRlc3Qg
b2YgaG9sb24ucHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
GzAZBgNVBAMTEmEgdGVzdCBvZiBob2xvbi5weTBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABB0oCxZ4tmlQiDZ55BLUP8BpnudVPaqPF9gggv1eCh3ngSnD2ij1YLfi
OUYYY1w0wGvtGI7C3BAhLWySvs3ehAyjUzBRMA4GA1UdDwEB/wQEAwIChDAPBgNV
HRMBAf8EBTADAQH/MB0GA1UdDgQWBBRfxtT+gxwcc+qMLhlb7k3kteXVsjAPBgNV
HREECDAGhwR/AAABMAoGCCqGSM49BAMCA0cAMEQCIDxiT5DbUVr3twyNINsY9Ojz
ZxGxBIS/fYexBCNWqD25AiBXHdCFucp3ic6ZgS7nrKHedT11LbuPrwlKKEChr62u
gg==
-----END CERTIFICATE-----
"""


class Source(unittest.TestCase):
    def test_python_3_9_reads_it(self):
        ast.parse((HERE / "holon.py").read_text(), feature_version=(3, 9))

    def test_it_needs_the_standard_library_alone(self):
        tree = ast.parse((HERE / "holon.py").read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        self.assertLessEqual({name.partition(".")[0] for name in names}, getattr(sys, "stdlib_module_names", names))

    def test_what_is_public_says_what_it_is(self):
        for name in holon.__all__:
            thing = getattr(holon, name)
            self.assertTrue(thing.__doc__, name)
            members = vars(thing).items() if isinstance(thing, type) and not issubclass(thing, tuple) else ()
            for member, value in members:
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


# ---- The fold

class Vectors(unittest.TestCase):
    """The files that the Go fold has written (notify/fold/testdata/README.md)."""

    def test_every_vector(self):
        files = sorted(VECTORS.glob("*.json"))
        self.assertGreater(len(files), 20, f"there are no vectors in {VECTORS}")
        for file in files:
            vector = json.loads(file.read_text("utf-8"))
            with self.subTest(vector["name"]):
                self.fold(vector)

    def fold(self, vector):
        bound = {name: None if value == -1 else value for name, value in vector["options"].items()}
        view, looks = View(**bound), {look["after_events"]: look for look in vector["expect"]["views"]}
        view.advance(vector["after_seq"])
        changes = vector["expect"]["changes"]
        self.assertEqual(len(changes), len(vector["events"]))
        for i, event in enumerate(vector["events"]):
            self.assertEqual(self.change(view.apply(event)), changes[i], f"event {i + 1}")
            if i + 1 in looks:
                look = looks.pop(i + 1)
                for item in (item for turn in look["turns"] for item in turn["items"]):
                    item.setdefault("content", None)
                    if "text_base64" not in item:
                        item.setdefault("text", "")
                turns = sorted((self.turn(t) for t in view.turns()), key=lambda t: t["turn_id"])
                self.assertEqual((view.cursor, turns), (look["cursor"], look["turns"]), f"after event {i + 1}")
        self.assertEqual(looks, {})

    def change(self, change):
        out = {"kind": change.kind}
        if change.turn:
            out["turn_id"] = change.turn.turn_id
        if change.item:
            out["item_id"] = change.item.item_id
        if change.superseded:
            out["superseded"] = [{k: v for k, v in entry._asdict().items() if v} for entry in change.superseded]
        return out

    def turn(self, turn):
        names = "turn_id thread_id state attempt progress progress_message origin message reason".split()
        out = {name: getattr(turn, name) for name in names}
        out["steps"] = [step._asdict() for step in turn.steps]
        out["items"] = [self.item(item) for item in turn.items()]
        out["superseded"] = [item.item_id for item in turn.superseded()]
        return out

    def item(self, item):
        out = {name: getattr(item, name) for name in "item_id type status truncated created_seq updated_seq".split()}
        out["from"] = item.text_from
        try:
            text = item.text_bytes.decode()
            self.assertEqual(item.text, text)
            out["text"] = text
        except UnicodeDecodeError:
            out["text_base64"] = base64.b64encode(item.text_bytes).decode()
            self.assertIn("\ufffd", item.text)
        out["content"] = item.content
        return out


def event(seq, method="turn/progress", **params):
    return {"method": method, "params": {"seq": seq, "turn_id": "t", **params}}


class Folding(unittest.TestCase):
    def test_half_a_surrogate_pair_counts_three_bytes(self):
        view = View()
        content = {"type": "reasoning", "text": "\ud83d"}
        view.apply(event(1, "item/created", item_id="i", content=content))
        item = view.apply(event(2, "item/delta", item_id="i", delta={"text": "b"}, offset=3)).item
        self.assertEqual((item.text, item.text_from), ("\ufffdb", 0))

    def test_what_is_not_of_the_protocols_form_changes_nothing(self):
        view = View()
        view.apply(event(1, "turn/started", state="active"))
        for wrong in ({"seq": "2"}, {"seq": 2, "lineage": [1]}, {"seq": 2, "lineage": {}}, {"seq": 2, "turn_id": 7},
                      {"seq": 2, "turn_id": "t", "state": 3}, [], "x"):
            self.assertEqual(view.apply({"method": "turn/started", "params": wrong}).kind, "skipped", wrong)
        self.assertEqual((view.cursor, view.turn("t").state), (1, "active"))

    def test_markers_alone_say_what_is_stale(self):
        markers = Markers()
        markers.add(Marker(9, "", "t", "a", 2, 4, ""))
        lineage = [{"step": "", "epoch": 1}, {"step": "a", "epoch": 1}, {"step": "a/b", "epoch": 7}]
        self.assertEqual([markers.stale(lineage, seq) for seq in (4, 5)], [False, True])
        self.assertFalse(markers.stale([("", 1), ("a", 2)], 5))
        self.assertEqual((markers.hides(lineage), markers.hides([])), (4, None))

    def test_the_lowest_bound_of_a_steps_markers_counts(self):
        two = [Marker(0, "", "t", "", 5, 10, ""), Marker(0, "", "t", "", 3, 2, "")]
        for order in (two, two[::-1]):
            markers = Markers()
            for marker in order:
                markers.add(marker)
            self.assertEqual([markers.hides([("", epoch)]) for epoch in (1, 4, 5)], [2, 10, None])

    def test_a_superseded_item_is_as_it_was_before(self):
        view, first = View(), [{"step": "", "epoch": 1}]
        view.apply(event(1, "item/created", item_id="i", lineage=first, content={"type": "reasoning", "text": "a"}))
        view.apply(event(2, "item/delta", item_id="i", lineage=first, delta={"text": "b"}, offset=1))
        view.apply(event(3, "stream/rewind", step="", new_epoch=2, superseded_after_seq=1))
        view.apply(event(4, "stream/rewind", step="", new_epoch=2, superseded_after_seq=0))
        item, = view.turn("t").superseded()
        self.assertEqual((item.text, item.live, item.updated_seq), ("a", False, 1))

    def test_events_of_a_turn_are_live_or_superseded(self):
        view, first, second = View(), [{"step": "", "epoch": 1}], [{"step": "", "epoch": 2}]
        view.apply(event(1, lineage=first))
        view.apply(event(2, "stream/rewind", step="", new_epoch=2, superseded_after_seq=0))
        view.apply(event(3, lineage=second))
        view.apply(event(4, "turn/late"))
        live, gone = view.turn("t").events()
        self.assertEqual(([e.seq for e in live], [e.seq for e in gone]), ([3], [1, 4]))


# ---- A server that misbehaves

def line_of(seq):
    return {"jsonrpc": "2.0", "method": "item/delta", "params": {
        "seq": seq, "thread_id": "a", "turn_id": "t", "item_id": "i", "delta": {"text": f"ä{seq};"}, "offset": 0}}


class FakeLog:
    """A server of a log of some events, whose streams a test may spoil."""

    def __init__(self, events=0, log_id="log", spoil=None, answer=None, address=("127.0.0.1", 0), tls=None):
        self.events, self.log_id = events, log_id
        self.spoil = spoil or (lambda n, stream: None)
        self.answer = answer or (lambda n, request, handler: {"result": request["params"]})
        self.queries, self.requests, self.headers = [], [], []
        self.over = threading.Event()
        self.lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                with fake.lock:
                    fake.queries.append(dict(urllib.parse.parse_qsl(self.path.partition("?")[2])))
                    fake.headers.append(dict(self.headers))
                    n = len(fake.queries)
                FakeStream(fake, self, n).serve()

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with fake.lock:
                    fake.requests.append(request)
                    fake.headers.append(dict(self.headers))
                    n = len(fake.requests)
                answer = fake.answer(n, request, self)
                if answer is not None:
                    self.reply(200, {"jsonrpc": "2.0", "id": request["id"], **answer})

            def reply(self, status, answer, **headers):
                text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": len(text), **headers}.items():
                    self.send_header(name.replace("_", "-"), str(value))
                self.end_headers()
                self.wfile.write(text)

            def cut(self):
                self.close_connection = True
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)

        class Server(ThreadingHTTPServer):
            daemon_threads, block_on_close, allow_reuse_address, request_queue_size = True, False, True, 64

            def handle_error(self, *_):
                pass  # the client has left

        self.server = Server(address, Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.address = self.server.server_address
        self.url = "http%s://127.0.0.1:%d" % ("s" if tls else "", self.address[1])
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def client(self, **options):
        return Client(self.url, **options)


class FakeStream:
    """One GET /rpc/stream under way; spoil changes its members."""

    def __init__(self, fake, handler, n):
        self.fake, self.handler = fake, handler
        query = fake.queries[n - 1]
        log_id, _, after = query.get("after_seq", f"{fake.events}").rpartition(":")
        self.after, self.log_id, self.latest = int(after), log_id or fake.log_id, fake.events
        self.heartbeat = 15
        self.skip, self.repeat, self.cut_at, self.closing, self.silent, self.refuse, self.page = None, False, None, None, False, None, None
        fake.spoil(n, self)

    def serve(self):
        if self.page:
            return self.handler.reply(*self.page)
        if self.refuse:
            status, kind = self.refuse
            data = {"kind": kind, "retryable": False, "first_seq": 5, "latest_seq": 9, "log_id": "log"}
            return self.handler.reply(status, {"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "no", "data": data}})
        self.written = 0
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", "application/x-ndjson")
        self.handler.send_header("Transfer-Encoding", "chunked")
        self.handler.end_headers()
        opened = {"log_id": self.fake.log_id, "after_seq": self.after, "first_seq": 1, "latest_seq": self.latest,
                  "heartbeat_seconds": self.heartbeat, "server": "x", "protocol_version": "y"}
        more = self.write({"jsonrpc": "2.0", "method": "stream/opened", "params": opened})
        for seq in range(self.after + 1, 0 if self.silent else self.latest + 1):
            if more and seq != self.skip:
                more = self.write(line_of(seq)) and (not self.repeat or self.write(line_of(seq)))
        if more and self.closing:
            self.write({"jsonrpc": "2.0", "method": "stream/closing", "params": self.closing})
            return self.handler.cut()
        if more:
            self.fake.over.wait(60)
        self.handler.cut()

    def write(self, message):
        data = json.dumps(message, ensure_ascii=False).encode() + b"\n"
        if self.cut_at is not None and self.written + len(data) > self.cut_at:
            data = data[:max(0, self.cut_at - self.written)]
            self.chunk(data)
            return False
        self.written += len(data)
        self.chunk(data)
        return True

    def chunk(self, data):
        if data:
            self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.handler.wfile.flush()


class WithServer(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="holon")
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", self.dir], check=True))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HOLON_")}
        environment.update(XDG_STATE_HOME=self.dir, XDG_CONFIG_HOME=self.dir)
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def serve(self, *args, **kwargs):
        fake = FakeLog(*args, **kwargs)
        self.addCleanup(fake.stop)
        return fake

    def take(self, stream, last):
        """The seqs that a stream yields up to one."""
        seqs = []
        for e in stream:
            seqs.append(e["params"]["seq"])
            if seqs[-1] >= last:
                break
        stream.close()
        return seqs

    def kind(self, call, *args, **kwargs):
        with self.assertRaises(HolonError) as caught:
            call(*args, **kwargs)
        return caught.exception.kind


class Streams(WithServer):
    def test_cut_connections_lose_and_repeat_nothing(self):
        # The first cut is in stream/opened, each further one a few bytes later.
        fake = self.serve(30, spoil=lambda n, s: setattr(s, "cut_at", 60 + 71 * n if n < 60 else None))
        with mock.patch.object(holon, "_backoff", lambda attempt, near: 0.0):
            seqs = self.take(fake.client().stream(0, retry_first=True), 30)
        self.assertEqual(seqs, list(range(1, 31)))
        self.assertGreater(len(fake.queries), 3)

    def test_it_resumes_at_log_and_cursor(self):
        fake = self.serve(4, spoil=lambda n, s: setattr(s, "closing", {"code": "server_stopping", "reconnect": True, "seq": 4} if n == 1 else None))
        fake.events = 2
        stream = fake.client().stream(0)
        self.assertEqual([next(stream)["params"]["seq"] for _ in range(2)], [1, 2])
        fake.events = 4
        self.assertEqual(self.take(stream, 4), [3, 4])
        self.assertEqual([q["after_seq"] for q in fake.queries], ["0", "log:2"])
        self.assertEqual(stream.log_id, "log")

    def test_repeated_events_come_once(self):
        fake = self.serve(9, spoil=lambda n, s: setattr(s, "repeat", True))
        for filters in ({}, {"thread_ids": ["a"]}):
            states = []
            self.assertEqual(self.take(fake.client().stream(0, on_state=states.append, **filters), 9), list(range(1, 10)))
            self.assertEqual([s.state for s in states], ["connected"])

    def test_the_cursor_moves_when_the_next_event_is_asked_for(self):
        fake = self.serve(3)
        with fake.client().stream(0) as stream:
            next(stream)
            self.assertEqual(stream.cursor, 0)
            next(stream)
            self.assertEqual(stream.cursor, 1)

    def test_a_live_stream_resumes_after_what_opened_said(self):
        fake = self.serve(5, spoil=lambda n, s: setattr(s, "closing", {"code": "internal", "reconnect": True} if n == 1 else None))
        seen = []
        stream = fake.client().stream(on_state=lambda state: (seen.append(state.state), setattr(fake, "events", 6)))
        self.assertEqual(self.take(stream, 6), [6])
        self.assertEqual([q.get("after_seq") for q in fake.queries], [None, "log:5"])
        self.assertEqual(seen, ["connected", "reconnecting", "connected"])

    def test_a_silent_connection_is_given_up(self):
        fake = self.serve(2, spoil=lambda n, s: n == 1 and s.__dict__.update(silent=True, heartbeat=0.02))
        states = []
        self.assertEqual(self.take(fake.client().stream(0, on_state=states.append), 2), [1, 2])
        self.assertEqual([s.error.message for s in states if s.error], ["nothing came for 0.05 s, not even a heartbeat"])

    def test_the_server_says_when_to_come_back_or_not_to(self):
        closing = {"code": "server_stopping", "reason": "bye", "reconnect": True, "retry_after_ms": 30}
        fake = self.serve(1, spoil=lambda n, s: setattr(s, "closing", closing if n == 1 else {"code": "cursor_expired", "reconnect": False}))
        states = []
        stream = fake.client().stream(0, on_state=states.append)
        next(stream)
        self.assertEqual(self.kind(next, stream), "cursor_expired")
        self.assertEqual([s.retry_in for s in states if s.error], [0.03])

    def test_a_gap_is_asked_for_again_then_reported(self):
        once = self.serve(5, spoil=lambda n, s: setattr(s, "skip", 3 if n == 1 else None))
        self.assertEqual(self.take(once.client().stream(0), 5), [1, 2, 3, 4, 5])
        always = self.serve(5, spoil=lambda n, s: setattr(s, "skip", 3))
        stream = always.client().stream(0)
        self.assertEqual([next(stream)["params"]["seq"] for _ in range(2)], [1, 2])
        self.assertEqual(self.kind(next, stream), "gap")

    def test_a_filtered_stream_may_skip_seqs(self):
        for filters in ({"thread_ids": ["a"]}, {"within_thread_ids": ["a"]}, {"methods": ["item/*"]}, {"collapse": True}, {"content": "summary"}):
            fake = self.serve(5, spoil=lambda n, s: setattr(s, "skip", 3))
            self.assertEqual(self.take(fake.client().stream(0, **filters), 5), [1, 2, 4, 5], filters)

    def test_filters_are_sent(self):
        fake = self.serve(1)
        stream = fake.client().stream(0, thread_ids=["a"], within_thread_ids=["b"], methods=["item/*"], whole_thread_ids=["c"], collapse=True, content="summary")
        self.take(stream, 1)
        self.assertEqual(fake.queries[0], {"thread_id": "a", "within_thread_id": "b", "method": "item/*", "whole_thread_id": "c",
                                           "collapse": "superseded", "content": "summary", "after_seq": "0"})
        with self.assertRaises(TypeError):
            fake.client().stream(thread_ids="a")

    def test_what_cannot_heal_ends_it(self):
        for status, kind in ((410, "cursor_expired"), (409, "cursor_ahead"), (409, "log_changed"), (401, "unauthorized"), (403, "forbidden"), (400, "invalid_params")):
            fake = self.serve(1)
            fake.spoil = lambda n, s: setattr(s, "refuse", (status, kind)) if n == 2 else setattr(s, "closing", {"code": "internal", "reconnect": True})
            stream = fake.client().stream(0)
            next(stream)
            with self.assertRaises(HolonError) as caught:
                next(stream)
            e = caught.exception
            self.assertEqual((e.kind, e.status, e.first_seq, e.latest_seq, e.log_id), (kind, status, 5, 9, "log"))
            self.assertEqual(list(stream), [])

    def test_what_a_proxy_or_a_portal_answers_is_waited_for(self):
        for page in ((502, b""), (404, b"<html>"), (200, b"<html>")):
            fake = self.serve(1)
            fake.spoil = lambda n, s: setattr(s, "page", page) if n == 2 else setattr(s, "closing", {"code": "internal", "reconnect": True} if n == 1 else None)
            stream = fake.client().stream(0)
            next(stream)
            fake.events = 2
            self.assertEqual(self.take(stream, 2), [2])
            first = self.serve(1, spoil=lambda n, s: setattr(s, "page", page))
            self.assertIn(self.kind(next, first.client().stream(0)), ("http_502", "http_404", "not_a_stream"))

    def test_a_line_without_an_end_is_given_up(self):
        fake = self.serve(3)
        stream = fake.client().stream(0)
        with mock.patch.object(holon, "_MAX_BYTES", 99):
            self.assertEqual(self.kind(next, stream), "bad_answer")

    def test_lines_that_are_no_json_rpc_are_a_broken_connection(self):
        fake = self.serve(2)
        fake.spoil = lambda n, s: n == 1 and s.handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 6\r\n\r\nhello\n")
        states = []
        self.assertEqual(self.take(fake.client().stream(0, retry_first=True, on_state=states.append), 2), [1, 2])
        self.assertEqual(states[0].error.kind, "bad_answer")

    def test_the_first_failure_is_raised_unless_asked_otherwise(self):
        fake = self.serve(3)
        fake.stop()
        self.assertEqual(self.kind(next, fake.client().stream(0)), "offline")
        back = []

        def on_state(state):
            if state.attempt == 2:
                back.append(self.serve(3, address=fake.address))
        self.assertEqual(self.take(fake.client().stream(0, retry_first=True, on_state=on_state), 3), [1, 2, 3])
        self.assertEqual(len(back), 1)

    def test_close_ends_an_iteration_that_waits_in_another_thread(self):
        fake = self.serve(1, spoil=lambda n, s: setattr(s, "heartbeat", 3600))
        stream, seen, got = fake.client().stream(0), threading.Event(), []

        def follow():
            for e in stream:
                got.append(e["params"]["seq"])
                seen.set()
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        self.assertTrue(seen.wait(60))
        stream.close()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual((got, list(stream)), ([1], []))

    def test_close_and_retry_now_end_a_wait(self):
        fake = self.serve(1, spoil=lambda n, s: setattr(s, "closing", {"code": "internal", "reconnect": True}))
        for end in ("close", "retry_now"):
            stream, waits = fake.client().stream(0), threading.Event()
            stream._on_state = lambda state: state.error and waits.set()
            with mock.patch.object(holon, "_backoff", lambda attempt, near: 3600.0):
                thread = threading.Thread(target=lambda: [next(stream, None), next(stream, None)], daemon=True)
                thread.start()
                self.assertTrue(waits.wait(60))
                fake.events = 2
                getattr(stream, end)()
                thread.join(60)
            self.assertFalse(thread.is_alive(), end)
            stream.close()
            fake.events = 1

    def test_waits_double_up_to_a_bound_and_differ(self):
        with mock.patch.object(holon.random, "uniform", lambda low, high: 1.0):
            near, far = ([holon._backoff(n, x) for n in (1, 2, 3, 4, 9, 10_000)] for x in (True, False))
        self.assertEqual(near, [0.0, 0.1, 0.2, 0.4, 1.0, 1.0])
        self.assertEqual(far, [0.0, 0.1, 0.2, 0.4, 5.0, 5.0])
        self.assertEqual(min(0.5 <= holon._backoff(9, True) <= 1.5 for _ in range(100)), True)


class Requests(WithServer):
    def test_params_and_results_arrive(self):
        fake = self.serve()
        params = {"n": 12345678901234567890, "s": "<ä>\u2028", "none": None}
        self.assertEqual(fake.client().call("echo", params), params)
        self.assertEqual(fake.requests[0]["method"], "echo")

    def test_errors_are_typed(self):
        data = {"kind": "overloaded", "retryable": True, "field": "x", "reason": "full", "retry_after_ms": 250}
        fake = self.serve(answer=lambda n, request, handler: {"error": {"code": -32001, "message": "full", "data": data}})
        with self.assertRaises(HolonError) as caught:
            fake.client().call("m", key=True)
        e = caught.exception
        self.assertEqual((e.kind, e.code, e.retryable, e.retry_after, e.field, e.reason, e.status, e.data),
                         ("overloaded", -32001, True, 0.25, "x", "full", 200, data))
        self.assertEqual(len(fake.requests), 1, "an answer is not asked for again")

    def test_a_key_is_repeated_until_there_is_an_answer(self):
        def answer(n, request, handler):
            if n == 1:  # nothing
                return handler.cut()
            if n == 2:  # half of it
                handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"jsonrpc":')
                return handler.cut()
            if n == 3:
                return handler.reply(502, b"<html>")
            if n == 4:
                return {"error": {"code": -32000, "message": "stopping", "data": {"kind": "unavailable", "retryable": True, "retry_after_ms": 1}}}
            return {"result": request["params"]}
        for params, key, own in (({"a": 1}, True, False), ({"a": 1}, "mine", True), ({"a": 1, "idempotency_key": "mine"}, True, True)):
            fake = self.serve(answer=answer)
            with mock.patch.object(holon, "_backoff", lambda attempt, near: 0.0):
                result = fake.client().call("m", params, key)
            keys = {request["params"]["idempotency_key"] for request in fake.requests}
            self.assertEqual((len(fake.requests), len(keys), result["a"], keys == {"mine"}), (5, 1, 1, own))

    def test_what_a_server_refuses_is_mended_before_it_is_sent(self):
        fake = self.serve(answer=lambda n, request, handler: {"result": request["params"]})
        sent = {"text": "x\ud83d y\ude00 \ud83d" + "\ude00 é", "n": (math.nan, -math.inf, 1.5), "inner": {"title": "\udcff", "\ud83d": 1}}
        want = {"text": "x\ufffd y\ufffd \U0001f600 é", "n": [None, None, 1.5], "inner": {"title": "\ufffd", "\ufffd": 1}}
        self.assertEqual(fake.client().call("m", sent), want)
        for name in ("cwd", "title", "name", "thread_id"):
            with self.assertRaises(ValueError):
                fake.client().call("m", {name: os.fsdecode(b"/src/caf\xe9")})
        self.assertEqual(fake.client().call("m", {"cwd": "/src/\ufffd"}), {"cwd": "/src/\ufffd"})
        self.assertEqual(len(fake.requests), 2)

    def test_without_a_key_it_is_sent_once(self):
        fake = self.serve(answer=lambda n, request, handler: handler.cut())
        with self.assertRaises(Offline):
            fake.client().call("m", {"a": 1})
        self.assertEqual(len(fake.requests), 1)

    def test_patience_ends(self):
        fake = self.serve()
        fake.stop()
        with self.assertRaises(Offline):
            fake.client(patience=0.15).call("m", key=True)

    def test_an_answer_that_does_not_come_is_given_up(self):
        fake = self.serve(answer=lambda n, request, handler: fake.over.wait(60) and None)
        with self.assertRaises(Offline):
            fake.client().call("m", timeout=0.05)

    def test_what_is_not_of_the_protocol_is_said(self):
        for status, text, kind in ((200, b"<html>", "bad_answer"), (200, b"{}", "bad_answer"), (200, b"[" * 100_000, "bad_answer"),
                                   (404, b"nope", "http_404"), (502, b"", "http_502"), (401, b"", "unauthorized"), (413, b'{"error":{"code":1}}', "1")):
            fake = self.serve(answer=lambda n, request, handler: handler.reply(status, text))
            self.assertEqual(self.kind(fake.client().call, "m"), kind)

    def test_a_redirect_does_not_take_the_token_along(self):
        elsewhere = self.serve()
        fake = self.serve(answer=lambda n, request, handler: handler.reply(307, b"", Location=elsewhere.url + "/rpc"))
        self.assertEqual(self.kind(fake.client(token="s3cret").call, "m"), "http_307")
        self.assertEqual(elsewhere.requests, [])

    def test_calls_from_many_threads(self):
        fake, results = self.serve(), []
        client = fake.client()
        threads = [threading.Thread(target=lambda i=i: results.append(client.call("m", {"i": i})["i"])) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(sorted(results), list(range(20)))

    def test_a_unix_socket(self):
        path = os.path.join(self.dir, "s")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen()
        got = []

        def serve():
            connection, _ = listener.accept()
            with connection:
                got.append(connection.recv(65536))
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"id":1,"result":"ok"}')
        threading.Thread(target=serve, daemon=True).start()
        self.assertEqual(Client("unix:" + path, token="s3cret").call("m"), "ok")
        self.assertIn(b"Host: localhost\r\n", got[0])
        self.assertIn(b"Authorization: Bearer s3cret\r\n", got[0])

    def test_https(self):
        for name, text in (("key", KEY), ("certificate", CERTIFICATE)):
            pathlib.Path(self.dir, name).write_text(text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.dir, "certificate"), os.path.join(self.dir, "key"))
        fake = self.serve(3, tls=context)
        self.assertEqual(fake.client(token="s3cret", ca=CERTIFICATE).call("m", {"a": 1}), {"a": 1})
        self.assertEqual(fake.headers[0]["Authorization"], "Bearer s3cret")
        self.assertEqual(self.take(fake.client(ca=CERTIFICATE).stream(0), 3), [1, 2, 3])
        self.assertEqual(self.kind(fake.client(token="s3cret").call, "m", key=True), "certificate")
        other = fake.url.replace("127.0.0.1", "localhost")
        self.assertEqual(self.kind(Client(other, ca=CERTIFICATE).call, "m"), "certificate")
        self.assertEqual(self.kind(fake.client(ca="none").call, "m", key=True), "certificate")
        self.assertEqual(len(fake.requests), 1)

    def test_addresses_that_cannot_be_are_offline(self):
        for url in ("http://127.0.0.1:99999", "http://a..b", "http://" + "ä" * 70):
            self.assertEqual(self.kind(Client(url).call, "m"), "offline", url)

    def test_http_and_https_are_not_mixed_up(self):
        fake = self.serve(answer=lambda n, request, handler: handler.reply(400, b"Client sent an HTTP request to an HTTPS server.\n"))
        self.assertEqual(self.kind(fake.client().call, "m"), "scheme")
        self.assertEqual(self.kind(Client(fake.url.replace("http:", "https:")).call, "m"), "scheme")


class Tokens(WithServer):
    """A token goes to the server that it was meant for, and to no other."""

    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.dir, "data")
        os.mkdir(self.data)
        pathlib.Path(self.data, "token").write_text("s3cret\n")
        self.record("http://127.0.0.1:9999", "unix:/x", "https://127.0.0.1:9998")

    def record(self, *urls, pid=None, **more):
        pathlib.Path(self.data, "server.json").write_text(json.dumps({"pid": pid or os.getpid(), "urls": urls, "log_id": "log", **more}))

    def found(self, *args, **kwargs):
        endpoint = Client(*args, **kwargs)._endpoint()
        return endpoint.url, endpoint.token

    def test_the_token_of_a_data_directory(self):
        for url, options, want in (
                ("http://127.0.0.1:9999/", {}, "s3cret"), ("unix:/x", {}, "s3cret"), ("https://127.0.0.1:9998", {}, "s3cret"),
                ("http://127.0.0.1:9", {}, ""), ("http://127.0.0.1:9998", {}, ""), ("http://localhost:9999", {}, ""),
                ("unix:/y", {}, ""), ("http://example.test:9", {}, ""),
                ("http://127.0.0.1:9", {"data": self.data}, "s3cret"), ("https://example.test", {"data": self.data}, "s3cret")):
            with mock.patch.dict(os.environ, {"HOLON_DATA": self.data}):
                self.assertEqual(self.found(url, **options)[1], want, url)

        with mock.patch.dict(os.environ, {"HOLON_URL": "http://127.0.0.1:9"}):
            self.assertEqual(self.found(data=self.data), ("http://127.0.0.1:9", ""), "the URL was not given with the directory")

    def test_the_token_of_the_environment(self):
        agent = "holon_agent_x"
        for variables, url, want in (
                ({"HOLON_TOKEN": "t"}, "http://127.0.0.1:1", "t"), ({"HOLON_TOKEN": agent}, "http://127.0.0.1:1", ""),
                ({"HOLON_TOKEN": agent, "HOLON_URL": "http://127.0.0.1:1/"}, "http://127.0.0.1:1", agent),
                ({"HOLON_TOKEN": "t", "HOLON_URL": "http://127.0.0.1:2"}, "http://127.0.0.1:1", ""),
                ({"HOLON_TOKEN": "t", "HOLON_URL": "http://localhost:1"}, "http://127.0.0.1:1", ""),
                ({"HOLON_TOKEN": agent, "HOLON_URL": "http://127.0.0.1:1"}, None, agent)):
            with mock.patch.dict(os.environ, variables):
                self.assertEqual(self.found(url), ("http://127.0.0.1:1", want), variables)
        with mock.patch.dict(os.environ, {"HOLON_TOKEN": "t"}):
            self.assertEqual(self.found("http://127.0.0.1:1", "given")[1], "given")

    def test_the_token_of_a_login(self):
        url = "https://holon.example.com"
        directory = pathlib.Path(self.dir, "holon", "profiles")
        directory.mkdir(parents=True)
        file = directory / (hashlib.sha256(url.encode()).hexdigest()[:32] + ".json")
        file.write_text(json.dumps({"url": url, "token": "kept", "ca": CERTIFICATE}))
        file.chmod(0o600)
        endpoint = Client("https://Holon.Example.com:443/")._endpoint()
        self.assertEqual((endpoint.token, endpoint.ca), ("kept", CERTIFICATE))
        self.assertEqual(self.found(url + ":444")[1], "")
        file.chmod(0o640)
        with self.assertRaises(PermissionError):
            self.found(url)
        file.chmod(0o600)
        file.write_text(json.dumps({"url": url + ":444", "token": "kept"}))
        with self.assertRaises(ValueError):
            self.found(url)

    def test_discovery(self):
        self.assertEqual(self.found(data=self.data), ("unix:/x", "s3cret"))
        self.record("https://127.0.0.1:9998", "http://127.0.0.1:9999")
        self.assertEqual(self.found(data=self.data), ("http://127.0.0.1:9999", "s3cret"))
        self.assertEqual(self.found(), ("http://127.0.0.1:8080", ""), "the default, without the token of a directory")
        os.rename(self.data, os.path.join(self.dir, "holon"))
        self.assertEqual(self.found(), ("http://127.0.0.1:9999", "s3cret"), "the default directory")
        os.rename(os.path.join(self.dir, "holon"), self.data)
        for gone in ({"pid": 2 ** 22 + 1}, {"boot_id": "another boot"}, {"start_ticks": 1}):
            if "pid" in gone or sys.platform.startswith("linux"):
                self.record("http://127.0.0.1:9999", **gone)
                self.assertEqual(self.kind(self.found, data=self.data), "offline", gone)

    def test_a_server_that_comes_back_elsewhere_is_found(self):
        first, second = self.serve(2), self.serve(5)
        first.spoil = lambda n, s: setattr(s, "closing", {"code": "server_stopping", "reconnect": True})
        self.record(first.url)
        stream = Client(data=self.data).stream(0, on_state=lambda state: state.error and self.record(second.url))
        self.assertEqual(self.take(stream, 5), [1, 2, 3, 4, 5])
        self.assertEqual(second.headers[0]["Authorization"], "Bearer s3cret")

    def test_the_known_address_stays_if_only_the_default_is_left(self):
        os.rename(self.data, os.path.join(self.dir, "holon"))
        client = Client()
        self.assertEqual(client._endpoint().url, "unix:/x")
        os.unlink(os.path.join(self.dir, "holon", "server.json"))
        client._refresh()
        self.assertEqual((client._endpoint().url, client._endpoint().token), ("unix:/x", "s3cret"))

    def test_no_token_in_clear_to_another_machine(self):
        for url in ("http://example.test", "http://10.0.0.1:8080", "http://127.0.0.1.example.test"):
            self.assertEqual(self.kind(Client(url, "s3cret").call, "m"), "clear_text")
            with self.assertRaises(WrongServer):
                next(Client(url, "s3cret").stream(0))

    def test_no_error_and_no_text_has_the_token(self):
        client = Client("http://127.0.0.1:1", "s3cret")
        with self.assertRaises(Offline) as caught:
            client.call("m")
        self.assertNotIn("s3cret", str(caught.exception) + repr(client._endpoint()) + repr(caught.exception.__cause__))
        for wrong in ("s3cret\n", "s3cret\r\nHost: x", "s3 cret", "ä" * 5, "x" * 5000):
            with self.assertRaises(ValueError) as caught:
                Client("http://127.0.0.1:1", wrong)
            self.assertNotIn(wrong, str(caught.exception))

    @unittest.skipUnless(sys.platform.startswith("linux"), "NOT TESTED: this system cannot say who listens")
    def test_the_kernel_says_who_listens(self):
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as listener:
                listener.bind((host, 0))
                listener.listen()
                with socket.create_connection(listener.getsockname()[:2]) as c:
                    with self.assertRaises(holon._NotAccepted):
                        holon._tcp_peer(c)
                    accepted, _ = listener.accept()
                    with accepted:
                        self.assertEqual(holon._accepted_by(c), os.geteuid())
                    with self.assertRaises(OSError):
                        holon._accepted_by(c)
                    with self.assertRaises(OSError), mock.patch.object(holon, "_tcp_peer", lambda sock: os.geteuid()):
                        holon._accepted_by(c)  # its port may belong to another program by now

    @unittest.skipUnless(sys.platform.startswith("linux") and os.geteuid() == 0, "NOT TESTED: only root can listen as another user")
    def test_a_program_of_another_user_gets_nothing(self):
        program = """if True:
            import os, socket, sys
            l = socket.socket(getattr(socket, sys.argv[1]))
            l.bind(("127.0.0.1", 0) if sys.argv[1] == "AF_INET" else sys.argv[2])
            if sys.argv[1] == "AF_UNIX": os.chmod(sys.argv[2], 0o777)
            os.setuid(int(sys.argv[3]))
            l.listen()
            print(l.getsockname()[1] if sys.argv[1] == "AF_INET" else "", flush=True)
            while True:
                c, _ = l.accept()
                print(len(c.recv(1)), flush=True)
                c.close()
            """
        for family in ("AF_INET", "AF_UNIX"):
            path = os.path.join(self.dir, "socket-" + family)
            for user, want in ((12345, "peer"), (0, "offline")):  # root's takes it and closes
                if os.path.exists(path):
                    os.unlink(path)
                other = subprocess.Popen([sys.executable, "-c", program, family, path, str(user)], stdout=subprocess.PIPE, text=True)
                self.addCleanup(other.stdout.close)
                self.addCleanup(other.wait)
                self.addCleanup(other.kill)
                port = other.stdout.readline().strip()
                url = f"http://127.0.0.1:{port}" if port else "unix:" + path
                self.assertEqual(self.kind(Client(url, "s3cret").call, "m", timeout=5), want, (family, user))
                self.assertEqual(other.stdout.readline(), "0\n" if want == "peer" else "1\n")


class URLs(unittest.TestCase):
    def test_urls_of_one_server_have_one_form(self):
        for want, same in {
            "https://holon.example.com": ["https://holon.example.com", "HTTPS://Holon.EXAMPLE.com", "https://holon.example.com/",
                                          "https://holon.example.com:443", "https://holon.example.com:443//", "https://holon.example.com:"],
            "http://127.0.0.1": ["http://127.0.0.1:80", "http://127.0.0.1/"],
            "https://[2001:db8::1]:8443": ["https://[2001:DB8::1]:8443"],
            "https://holon.example.com/team": ["https://holon.example.com/team/", "https://holon.example.com:443/team"],
            "unix:/run/holon.sock": ["unix:/run/holon.sock"], f"unix:{os.getcwd()}/s": ["unix:s"],
        }.items():
            for url in same:
                self.assertEqual(normal_url(url), want)

    def test_urls_that_are_alike_have_other_forms(self):
        alike = ["https://holon.example.com", "http://holon.example.com", "https://holon.example.com:444", "https://holon.example.com:80",
                 "https://holon.example.com.", "https://holon.example.com/a", "https://holon.example.com/A", "https://holon.example.com/a/../",
                 "https://\u212aholon.example.com", "https://kholon.example.com", "https://127.0.0.1", "https://localhost", "https://[::1]",
                 "https://holon.example.com:0443", "unix:/run/holon.sock", "unix:/run/x/../holon.sock", "unix:/run/holon.sock/"]
        self.assertEqual(len({normal_url(url) for url in alike}), len(alike))

    def test_urls_that_nobody_means_are_refused_and_not_repeated(self):
        for url in ("https://me:hunter2@holon.example.com", "https://holon.example.com?token=hunter2", "https://holon.example.com#hunter2",
                    "hunter2", "holon.example.com:8443", "ftp://holon.example.com", "https://:8443", "https://", "unix:", "UNIX:/s",
                    "https://holon.example.com:port", "https://a b", "https://a\n.test", "https://[::1"):
            with self.assertRaises(ValueError) as caught:
                Client(url)
            self.assertNotIn("hunter2", str(caught.exception))


class Jobs:
    """A client whose server answers requests for jobs with these, one after the other."""

    def __init__(self, *answers):
        self.answers, self.asked, self.lock = list(answers), [], threading.Lock()

    def call(self, method, params, **_):
        with self.lock:
            self.asked.append((method, params))
            answer = self.answers.pop(0) if self.answers else self.say(params)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @staticmethod
    def say(params):
        return {"results": [{"turn_id": "turn_1", "state": "completed", "text": "did " + params["job"]}]}


class Workflows(unittest.TestCase):
    turn = {"thread_id": "a", "turn_id": "turn_a", "attempt": 2}

    def workflow(self, jobs):
        """A workflow whose waits are noted; other tests may sleep meanwhile."""
        work, self.slept = holon.workflow(self.turn, jobs), []
        work._sleep = self.slept.append
        return work

    def test_a_job_is_asked_for_until_it_has_ended(self):
        between = HolonError("turn_not_active", "between", retryable=True, retry_after=3.0)
        active = {"results": [{"turn_id": "turn_1", "state": "active"}]}
        review = {"results": [{"turn_id": "turn_1", "state": "in_review"}]}
        jobs = Jobs(between, Offline("gone"), {"waited": False}, active, review)
        self.assertEqual(self.workflow(jobs).job("tests/unit", "make test", agent="builds"), "did tests/unit")
        self.assertEqual(self.slept, [3.0, 1.0, 1.0, 1.0, 5.0])
        self.assertEqual(len(jobs.asked), 6)
        for _, params in jobs.asked:
            self.assertEqual(params["parent"], self.turn)
            self.assertEqual((params["job"], params["agent"]), ("tests/unit", "builds"))
            self.assertNotIn("cwd", params)

    def test_a_job_that_failed_is_an_error(self):
        for result, words in (
            ({"state": "failed", "error": {"kind": "agent_failed", "message": "red"}}, "job x failed: red"),
            ({"state": "interrupted"}, "job x was interrupted"),
            ({"state": "completed", "review": {"state": "blocked", "note": "no"}}, "job x was blocked: no"),
        ):
            with self.assertRaises(holon.JobFailed) as caught:
                holon.workflow(self.turn, Jobs({"results": [{"turn_id": "turn_1", **result}]})).job("x", "y")
            self.assertEqual(str(caught.exception), words)
        for kind in ("conflict", "attempt_superseded", "unauthorized"):
            with self.assertRaises(HolonError) as refused:
                holon.workflow(self.turn, Jobs(HolonError(kind, "no"))).job("x", "y")
            self.assertEqual(refused.exception.kind, kind)

    def test_a_long_result_is_read_whole(self):
        jobs = Jobs({"results": [{"turn_id": "turn_1", "continued_by": "turn_2", "state": "completed", "text": "head", "text_truncated": True}]},
                    {"items": [{"content": {"content": [{"text": "all "}, {"text": "of it"}]}}]})
        self.assertEqual(holon.workflow(self.turn, jobs).job("x", "y"), "all of it")
        self.assertEqual(jobs.asked[1][1]["turn_id"], "turn_2")

    def test_parallel_and_pipeline_keep_the_order(self):
        work = holon.workflow(self.turn, Jobs())
        self.assertEqual(work.parallel(*(lambda n=n: work.job(f"part/{n}", "x") for n in range(40))), [f"did part/{n}" for n in range(40)])
        self.assertEqual(work.parallel(), [])
        found = work.pipeline(["a", "b"], lambda _, item: work.job(f"find/{item}", item), lambda found, item: (item, found))
        self.assertEqual(found, [("a", "did find/a"), ("b", "did find/b")])
        ended = []

        def fails():
            raise ValueError("no")
        with self.assertRaises(ValueError):
            work.parallel(fails, lambda: ended.append(work.job("x", "y")))
        self.assertEqual(ended, ["did x"])

    def test_the_turn_is_that_of_the_environment(self):
        with mock.patch.dict(os.environ, {"HOLON_THREAD_ID": "a", "HOLON_TURN_ID": "turn_a", "HOLON_ATTEMPT": "2"}):
            jobs = Jobs()
            holon.workflow(client=jobs).job("x", "y")
            self.assertEqual(jobs.asked[0][1]["parent"], self.turn)
        with mock.patch.dict(os.environ, clear=True):
            with self.assertRaises(LookupError):
                holon.workflow(client=Jobs())


if __name__ == "__main__":
    unittest.main()
