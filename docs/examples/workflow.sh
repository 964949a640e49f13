#!/bin/sh
# A workflow in the shell: two jobs at the same time, then one that has both results.
#
#   [agents.release]
#   kind = "exec"
#   command = ["/path/to/workflow.sh"]
#   child_agents = ["echo"]     # who does the jobs
#   on_crash = "retry"          # a program that was cut off is run again,
#   max_attempts = 100          # and gets the jobs that are done as they are
#
#   holon run --agent release "1.4"
#
# It needs the holon command in its PATH. The server has put HOLON_URL, HOLON_TOKEN and the ids of
# this turn into the environment.
set -eu

read -r version # the first line: after a crash more follows, about the jobs

holon job build/linux --agent echo "/say linux $version" >linux.txt & linux=$!
holon job build/mac --agent echo "/say mac $version" >mac.txt & mac=$!
wait "$linux"
wait "$mac"

holon job publish --agent echo "/say published: $(cat linux.txt), $(cat mac.txt)"
