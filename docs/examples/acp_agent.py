#!/usr/bin/env python3
"""An ACP agent for Holon: repeats its prompt, in capitals if that is allowed."""
import json, queue, sys, threading, uuid

answers, cancelled, writing = {}, set(), threading.Lock()

def send(**message):
    with writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def ask(session, call):
    answers[call] = queue.SimpleQueue()
    send(id=call, method="session/request_permission", params={
        "sessionId": session, "toolCall": {"toolCallId": call, "title": "Shout"},
        "options": [{"optionId": "yes", "name": "Go ahead", "kind": "allow_once"},
                    {"optionId": "no", "name": "Keep quiet", "kind": "reject_once"}]})
    return answers[call].get()["result"]["outcome"].get("optionId")

def prompt(id, session, text):
    cancelled.discard(session)
    if ask(session, f"shout-{id}") == "yes":
        text = text.upper()
    for word in text.split():
        if session not in cancelled:
            send(method="session/update", params={"sessionId": session, "update": {
                "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": word + " "}}})
    send(id=id, result={"stopReason": "cancelled" if session in cancelled else "end_turn"})

for line in sys.stdin:  # its end is the end of the agent
    m = json.loads(line)
    id, method, params = m.get("id"), m.get("method"), m.get("params", {})
    if method == "initialize":
        send(id=id, result={"protocolVersion": 1, "agentInfo": {"name": "shout", "version": "1.0"}})
    elif method == "session/new":
        send(id=id, result={"sessionId": str(uuid.uuid4())})
    elif method == "session/prompt":
        text = " ".join(block["text"] for block in params["prompt"] if block["type"] == "text")
        threading.Thread(target=prompt, args=(id, params["sessionId"], text), daemon=True).start()
    elif method == "session/cancel":
        cancelled.add(params["sessionId"])
    elif method is None:
        answers[id].put(m)
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "there is no " + method})
