#!/usr/bin/env bash
# Starts a turn and follows it to its end: + is a message, ~ one that a retry superseded, = the end.
#
# usage: client.sh PROMPT    with curl and jq, and the server in HOLON_URL and HOLON_TOKEN
set -euo pipefail
url=${HOLON_URL:-http://127.0.0.1:8080}
get() { exec curl -sSN -H @<(echo "${HOLON_TOKEN:+Authorization: Bearer $HOLON_TOKEN}") "$@"; }
call() { # call METHOD PARAMS: asks until there is an answer. An id or a key in PARAMS makes that safe.
	local request="{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}" answer
	until answer=$(get "$url/rpc" -d "$request"); do sleep 1; done
	jq '.result // error(.error.message)' <<<"$answer"
}

thread=client-$(date +%s)-$$
cursor=$(call thread/start "{\"thread_id\":\"$thread\"}" | jq .seq)
message=$(jq -n --arg text "$1" '{type: "message", role: "user", content: [{type: "input_text", text: $text}]}')
turn=$(call turn/start "{\"thread_id\":\"$thread\",\"idempotency_key\":\"$thread\",\"input\":[$message],\"retry\":{\"on_crash\":\"retry\"}}" | jq .turn_id)

trap 'kill $! 2>/dev/null' EXIT # the stream does not end by itself
declare -A shown              # the completed messages
while [ -z "${state-}" ]; do
	while [ -z "${state-}" ] && read -r line; do # a line that was cut off has no end, and comes again
		IFS=$'\t' read -r cursor method id status text <<<"$(jq -r '.method as $method | .params | .content as $content | [.seq // .after_seq,
			$method, .item_id // "-", if $content.type == "agent_message" then .status else "-" end, $content.content[0].text?] | @tsv' <<<"$line")"
		case $method in
		item/*) [ "$status" != completed ] || [ -n "${shown[$id]-}" ] || { shown[$id]=$text && echo "+ $text"; } ;;
		stream/rewind) # the server says which items are live
			live=$(call item/list "{\"turn_id\":$turn}" | jq -r '.items[].item_id')
			for id in "${!shown[@]}"; do [[ $live == *"$id"* ]] || { echo "~ ${shown[$id]}" && unset "shown[$id]"; }; done ;;
		turn/completed | turn/failed | turn/interrupted) state=${method#turn/} && echo "= $state" ;;
		esac
	done < <(get -y 40 -Y 1 "$url/rpc/stream?after_seq=$cursor&thread_id=$thread&method=item/*&method=turn/*&collapse=superseded")
	[ -n "${state-}" ] || sleep 1
done
