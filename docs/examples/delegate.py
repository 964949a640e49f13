#!/usr/bin/env python3
"""A worker for Holon that delegates: each line of the input becomes a child turn of
another agent. The turn waits for all of them and ends with their results.

usage: delegate.py AGENT CHILD_AGENT    with the server in HOLON_URL and its token in HOLON_TOKEN"""
import json, os, socket, sys, time, urllib.error, urllib.request, uuid

URL = os.environ.get("HOLON_URL", "http://127.0.0.1:8080") + "/rpc"
HEADERS = {"Content-Type": "application/json"}
if os.environ.get("HOLON_TOKEN"):
    HEADERS["Authorization"] = "Bearer " + os.environ["HOLON_TOKEN"]

class Refused(Exception):
    pass

def ask(method, **params):
    """Asks until there is an answer."""
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

def call(method, **params):
    """The same for a change: the key makes it safe to ask twice."""
    return ask(method, idempotency_key=str(uuid.uuid4()), **params)

def start_parts(turn, lease, lines):
    """Starts a child turn for each line. Each has a thread of its own, so they run at once."""
    for line in lines:
        owner = {"thread_id": turn["thread_id"], "turn_id": turn["turn_id"]}
        thread = call("thread/start", agent=sys.argv[2], title=line[:200], parent={"thread_id": turn["thread_id"]})
        call("turn/start", thread_id=thread["thread_id"], parent=owner, title=line[:200],
             input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": line}]}])
        if call("turn/renew", lease=lease)["interrupt_requested"]:
            break  # turn/complete confirms it, and the server interrupts the child turns

def report(turn):
    """The results of the child turns that this attempt has started, as one text."""
    parts, cursor = [], {}
    while True:
        page = ask("turn/list", parent_thread_id=turn["thread_id"], **cursor)
        parts += [t["turn_id"] for t in page["turns"]
                  if (t["parent"].get("turn_id"), t["parent"].get("attempt")) == (turn["turn_id"], turn["attempt"])]
        if not page.get("next_cursor"):
            break
        cursor = {"cursor": page["next_cursor"]}
    results = ask("turn/await", turn_ids=parts, timeout_seconds=0)["results"] if parts else []
    return "\n".join(f"{r['title']}: {r['state']}: {r.get('text') or r.get('error', {}).get('message', '')}" for r in results)

def work(claim):
    turn, lease = claim["turn"], claim["lease"]
    lines = [line for message in claim["input"] for part in message["content"]
             for line in part.get("text", "").splitlines() if line.strip()]
    if lease.get("prompt", 1) == 1:
        start_parts(turn, lease, lines[:64])  # no turn has more than 64 at once
        # The lease ends here. While the parts run, no worker has the turn: the answer says
        # active, and waits_for has the parts. When all have ended, the next prompt is claimed.
        call("turn/complete", lease=lease, message="there was nothing to do")
    else:  # all parts have ended. input tells that to a model; a program reads the results
        call("turn/complete", lease=lease, message=report(turn))

while True:
    claim = call("turn/claim", agent=sys.argv[1], worker=f"{socket.gethostname()}-{os.getpid()}", wait_seconds=30)
    if claim["turn"]:
        try:
            work(claim)
        except Refused as why:
            print(f"{claim['turn']['turn_id']}: {why}", file=sys.stderr)
