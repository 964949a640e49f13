#!/usr/bin/env python3
"""Starts a turn and follows it to its end: + is a message, ~ one that a retry superseded, = the end.

usage: client.py PROMPT    with holon.py beside it, and the server in HOLON_URL and HOLON_TOKEN"""
import sys

from holon import Client, View

holon = Client()
thread = holon.call("thread/start", key=True)
message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": sys.argv[1]}]}
params = {"thread_id": thread["thread_id"], "input": [message], "retry": {"on_crash": "retry"}}
turn_id = holon.call("turn/start", params, key=True)["turn_id"]

view, shown = View(), set()
for event in holon.stream(after_seq=thread["seq"], thread_ids=[thread["thread_id"]], retry_first=True):
    change = view.apply(event)
    for gone in change.superseded:
        if gone.item_id in shown:
            shown.remove(gone.item_id)
            print("~", change.turn.item(gone.item_id).text, flush=True)
    item, turn = change.item, view.turn(turn_id)
    if item and item.live and item.type == "agent_message" and item.status == "completed" and item.item_id not in shown:
        shown.add(item.item_id)
        print("+", item.text, flush=True)
    if turn and turn.ended:
        print("=", turn.state)
        break
