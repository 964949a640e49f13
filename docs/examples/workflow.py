#!/usr/bin/env python3
"""A workflow in Python: two jobs at the same time, then one that has both results.

    [agents.release]
    kind = "exec"
    command = ["/path/to/workflow.py"]
    child_agents = ["echo"]     # who does the jobs
    on_crash = "retry"          # a program that was cut off is run again,
    max_attempts = 100          # and gets the jobs that are done as they are

    holon run --agent release "1.4"

holon.py (clients/python) is beside it. The server has put HOLON_URL, HOLON_TOKEN and the ids of
this turn into the environment.
"""
import sys

from holon import workflow

version = sys.stdin.readline().strip()  # the first line: after a crash more follows, about the jobs
work = workflow()

linux, mac = work.parallel(
    lambda: work.job("build/linux", f"/say linux {version}", agent="echo"),
    lambda: work.job("build/mac", f"/say mac {version}", agent="echo"),
)

print(work.job("publish", f"/say published: {linux}, {mac}", agent="echo"))
