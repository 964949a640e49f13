#!/usr/bin/env python3
"""An agent for Holon: runs the command in the prompt, if that is allowed."""
import json, subprocess, sys

def say(event, **members):
    print(json.dumps({"event": event, **members}), flush=True)

prompt = json.loads(sys.stdin.readline())
command = "\n".join(part["text"] for message in prompt["input"]
                    for part in message["content"] if part["type"] == "input_text")
call = {"type": "command_execution", "title": command, "command": command, "cwd": prompt["cwd"]}
say("ask", id="may", title="Run this command?", subject={"type": "command", "command": command})
if json.loads(sys.stdin.readline())["status"] != "completed":
    say("message", text="Then I leave it.")
    sys.exit()
say("item", id="run", content=call)
process = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace")
output = ""
for line in process.stdout:
    output += line
    say("delta", id="run", text=line)
code = process.wait()
say("item", id="run", status="failed" if code else "completed",
    content={**call, "exit_code": code, "output": output})
say("message", text=f"It ended with {code}.")
