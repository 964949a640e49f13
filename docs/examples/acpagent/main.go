// Command acpagent is an ACP agent for Holon: it counts words. It works on one
// prompt at a time, and so fast that it does not handle session/cancel.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type object = map[string]any

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for session := 1; ; session++ {
		var m struct {
			ID     any
			Method string
			Params struct {
				SessionID string
				Prompt    []struct{ Text string }
			}
		}
		if in.Decode(&m) != nil {
			return // the end of input is the end of the agent
		}
		answer := object{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = object{"protocolVersion": 1}
		case "session/new":
			answer["result"] = object{"sessionId": fmt.Sprintf("%d-%d", os.Getpid(), session)}
		case "session/prompt":
			for _, block := range m.Params.Prompt {
				text := fmt.Sprintf("%d words. ", len(strings.Fields(block.Text)))
				_ = out.Encode(object{"jsonrpc": "2.0", "method": "session/update", "params": object{
					"sessionId": m.Params.SessionID,
					"update":    object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}}}})
			}
			answer["result"] = object{"stopReason": "end_turn"}
		default:
			answer["error"] = object{"code": -32601, "message": "there is no " + m.Method}
		}
		if m.ID != nil {
			_ = out.Encode(answer) // an error means that the reader is gone, and with it the input
		}
	}
}
