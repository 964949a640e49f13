// Command delegate is an agent for Holon that lets another agent work: each line of
// its prompt is the prompt of a child turn. It waits for the last one. The others run
// in the background, and their ends start a further turn of this agent.
//
//	[agents.lead]
//	kind = "exec"
//	command = ["/path/to/delegate", "echo"]
//	input = "json"
//	child_agents = ["echo"]               # whom it may let work
//
//	holon inbox policy THREAD --wake idle # ends in the background start turns of THREAD
//
// The server starts it once for each prompt, and has put HOLON_URL and HOLON_TOKEN into
// its environment. What it prints is the answer to the prompt.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/seed82539d15/holon/rpc/client"
)

type object = map[string]any

// prompt is the line on stdin.
type prompt struct {
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id"`
	Input    []struct {
		Origin  string // client, steer or wake
		Content []struct{ Text string }
	}
}

// result is how a child turn ended.
type result struct {
	Title, State, Text string
	Error              struct{ Message string }
}

type agent struct {
	ctx    context.Context
	client *client.Client
	child  string // the agent that does the work
	prompt prompt
}

// start starts the child turn with this number, and waits for its end so long. The
// keys are the same when this turn is tried again after a crash: what it has started is
// then found, not started twice.
func (a *agent) start(n int, text string, waitSeconds int) (ended []result, err error) {
	key := fmt.Sprintf("%s-%d", a.prompt.TurnID, n)
	owner := object{"thread_id": a.prompt.ThreadID}
	var thread struct {
		ID string `json:"thread_id"`
	}
	params := object{"parent": owner, "agent": a.child, "idempotency_key": key + "-thread"}
	if err := a.client.Call(a.ctx, "thread/start", params, &thread); err != nil {
		return nil, err
	}
	// background: if this process dies, the child goes on. Without it, this turn would
	// end after the child, and the child would end with an attempt of this turn.
	params = object{
		"parent": owner, "thread_id": thread.ID, "background": true, "title": fmt.Sprint("part ", n), "idempotency_key": key,
		"input": []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}}},
	}
	if waitSeconds > 0 {
		params["wait_seconds"] = waitSeconds
	}
	var started struct{ Results []result }
	err = a.client.Call(a.ctx, "turn/start", params, &started)
	return started.Results, err
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: delegate AGENT")
	}
	a := agent{ctx: context.Background(), child: os.Args[1]}
	if err := json.NewDecoder(os.Stdin).Decode(&a.prompt); err != nil {
		log.Fatal(err)
	}
	// The first message is the prompt. After a crash another one follows, about the
	// children of the attempt before.
	var text strings.Builder
	for _, part := range a.prompt.Input[0].Content {
		text.WriteString(part.Text)
	}
	if a.prompt.Input[0].Origin == "wake" { // for a model; a program reads inbox/read
		fmt.Printf("It is done:\n%s", text.String())
		return
	}
	a.client = client.New(client.WithToken(client.At(os.Getenv("HOLON_URL"), "HOLON_URL", "", false), os.Getenv("HOLON_TOKEN")))
	defer a.client.Close()
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	last := len(lines) - 1
	for n, line := range lines[:last] {
		if _, err := a.start(n+1, line, 0); err != nil {
			log.Fatal(err) // exit status 1: the turn fails, and says why
		}
	}
	fmt.Printf("%d in the background\n", last)
	// A result in the answer counts as told: it does not come once more as a prompt.
	ended, err := a.start(last+1, lines[last], 600)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range ended {
		fmt.Printf("%s %s: %s%s\n", r.Title, r.State, r.Text, r.Error.Message)
	}
}
