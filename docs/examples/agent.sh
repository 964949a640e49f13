#!/bin/sh
# An agent for Holon: counts the lines of files. The prompt names one per line.
trap 'echo "Stopped."; exit 1' TERM
while read -r file; do
	[ -n "$file" ] || continue
	lines=$(wc -l <"$file") || {
		echo "turn $HOLON_TURN_ID: $file cannot be read" >&2
		exit 2
	}
	echo "$file has $((lines)) lines."
done
