#!/bin/sh
# An agent for Holon that lets another agent work, as a shell does with "a & b": what
# is before the & runs in the background, what is after it is waited for.
#
#   [agents.lead]
#   kind = "exec"
#   command = ["/path/to/delegate.sh"]
#   child_agents = ["echo"]               # whom it may let work
#
#   holon run --agent lead --thread main "/sleep 9000 & hello"
#   holon inbox policy main --wake idle   # the end of the first starts a turn of this agent
#
# It needs the holon command in its PATH. The server has put HOLON_URL and HOLON_TOKEN
# into the environment: with them the command acts for this agent, and may do only what
# this agent may.
set -eu

# In the turn that the end of background work has started, the prompt tells what came.
if [ "$HOLON_ORIGIN" = wake ]; then
	echo "It is done:"
	exec cat
fi

# start NAME PROMPT starts a child turn and prints its id. The key is the same when this
# turn is tried again after a crash: what it has started is then found, not started twice.
start() {
	holon run --background --quiet --parent "$HOLON_THREAD_ID" --agent echo \
		--title "$1" --idempotency-key "$HOLON_TURN_ID-$1" "$2"
}

read -r prompt # the first line: after a crash more follows, about the children
later=$(start later "${prompt%% & *}")
now=$(start now "${prompt#* & }")
echo "In the background: $later"
# With --owner the result counts as told: it does not come once more as a prompt. If a
# person's prompt is queued meanwhile, the wait ends, and what goes on comes as a prompt later.
holon await --owner "$HOLON_THREAD_ID" "$now" || true
