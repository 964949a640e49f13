#!/usr/bin/env python3
"""A worker for Holon: runs each line of the input as a command, one step per line.

usage: worker.py AGENT    with the server in HOLON_URL and its token in HOLON_TOKEN"""
import datetime, json, os, socket, subprocess, sys, threading, time, urllib.error, urllib.request, uuid

URL = os.environ.get("HOLON_URL", "http://127.0.0.1:8080") + "/rpc"
HEADERS = {"Content-Type": "application/json"}
if os.environ.get("HOLON_TOKEN"):
    HEADERS["Authorization"] = "Bearer " + os.environ["HOLON_TOKEN"]

class Refused(Exception):
    pass

def call(method, **params):
    """Asks until there is an answer: the key makes it safe to ask twice."""
    params["idempotency_key"] = str(uuid.uuid4())
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    while True:
        try:
            answer = json.load(urllib.request.urlopen(urllib.request.Request(URL, body, HEADERS), timeout=90))
        except urllib.error.HTTPError as e:
            answer = {"error": {"message": f"{method}: {e}", "data": {"retryable": e.code >= 500}}}
        except (OSError, ValueError):  # the server is down, or went down in mid-answer
            answer = {"error": {"data": {"retryable": True}}}
        if "result" in answer:
            return answer["result"]
        if not answer["error"]["data"]["retryable"]:
            raise Refused(answer["error"]["message"])
        time.sleep(answer["error"]["data"].get("retry_after_ms", 500) / 1000)

class Turn:
    def __init__(self, claim):
        self.lease, self.cwd, self.lines = claim["lease"], claim.get("cwd"), []
        self.take(claim["input"])
        self.stop, self.over = threading.Event(), threading.Event()
        expires = datetime.datetime.fromisoformat(self.lease["expires_at"].replace("Z", "+00:00"))
        self.renew_every = max(0.2, (expires.timestamp() - time.time()) / 3)
        threading.Thread(target=self.renew, daemon=True).start()

    def take(self, messages):
        for message in messages:
            for part in message["content"]:
                self.lines += [line for line in part.get("text", "").splitlines() if line.strip()]

    def renew(self):
        while not self.over.wait(self.renew_every):
            try:
                answer = call("turn/renew", lease=self.lease)
            except Refused:
                return self.stop.set()  # the turn is not ours any more
            self.take(answer["steers"])
            if answer["interrupt_requested"]:
                self.stop.set()

    def watch(self, process):
        while process.poll() is None:
            if self.stop.wait(0.2) and process.poll() is None:
                os.killpg(process.pid, 9)

    def run(self, step, line):
        """Runs a command as a try of the step, and returns its exit code."""
        epoch = call("step/start", lease=self.lease, step=step)["epoch"]
        content = {"type": "command_execution", "title": line, "command": line, "output": ""}
        item = call("item/create", lease=self.lease, step=step, epoch=epoch, content=content)["item_id"]
        process = subprocess.Popen(line, shell=True, cwd=self.cwd, stdin=subprocess.DEVNULL, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        threading.Thread(target=self.watch, args=(process,), daemon=True).start()
        for text in process.stdout:
            content["output"] += text
            call("item/append", lease=self.lease, item_id=item, text=text)
        content["exit_code"] = process.wait()
        status = "failed" if content["exit_code"] else "completed"
        call("item/update", lease=self.lease, item_id=item, status=status, content=content)
        call("step/end", lease=self.lease, step=step, epoch=epoch, status=status)
        return content["exit_code"]

    def work(self):
        done = 0
        while done < len(self.lines) and not self.stop.is_set():
            step, line = f"line-{done + 1}", self.lines[done]
            # Starting the step again supersedes its first try.
            if self.run(step, line) and not self.stop.is_set() and self.run(step, line):
                return call("turn/fail", lease=self.lease, error={"kind": "agent_failed", "message": f"{line!r} fails"})
            done += 1
        call("turn/complete", lease=self.lease, message=f"{done} commands")

while True:
    claim = call("turn/claim", agent=sys.argv[1], worker=f"{socket.gethostname()}-{os.getpid()}", wait_seconds=30)
    if claim["turn"]:
        turn = Turn(claim)
        try:
            turn.work()
        except Refused as why:
            print(f"{turn.lease['turn_id']}: {why}", file=sys.stderr)
        turn.stop.set(), turn.over.set()
