#!/usr/bin/env bash
# Runs the conformance suite against a server of bin/holon, on a port and a
# data directory of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
data=$(mktemp -d)
# The suite works for these two agents itself.
cat >"$data/config.toml" <<'END'
[agents.conformance]
kind = "worker"

[agents.conformance_brief]
kind = "worker"
lease_seconds = 2
on_crash = "retry"
END
bin/holon serve --listen 127.0.0.1:0 --data "$data" --config "$data/config.toml" 2>"$data/log" &
server=$!
stop() {
	kill -TERM "$server" 2>/dev/null || true
	wait "$server" || true
	rm -rf "$data"
}
trap stop EXIT
for _ in $(seq 100); do
	[ -s "$data/server.json" ] && break
	sleep 0.1
done
[ -s "$data/server.json" ] || { cat "$data/log" >&2; exit 1; }
HOLON_URL='' bin/holon conformance --data "$data" "$@"
