// Client starts a turn and follows it to its end: + is a message, ~ one that a retry
// superseded, = the end.
//
// usage: client PROMPT    with the server in HOLON_URL and HOLON_TOKEN
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/seed82539d15/holon/notify/fold"
	"github.com/seed82539d15/holon/rpc/client"
)

type object = map[string]any

func main() {
	ctx, at := context.Background(), client.At(cmp.Or(os.Getenv("HOLON_URL"), client.DefaultURL), "HOLON_URL", "", false)
	holon := client.New(client.WithToken(at, os.Getenv("HOLON_TOKEN")))
	call := func(method string, params object) (result object) {
		if err := holon.Call(ctx, method, params, &result); err != nil {
			log.Fatal(err)
		}
		return result
	}
	thread := call("thread/start", nil)
	message := object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": os.Args[1]}}}
	params := object{"thread_id": thread["thread_id"], "input": []object{message}, "retry": object{"on_crash": "retry"}}
	turnID := call("turn/start", params)["turn_id"].(string)

	view, shown, ended := fold.New(fold.Options{}), map[string]string{}, errors.New("ended")
	after, threads := int64(thread["seq"].(float64)), []string{thread["thread_id"].(string)}
	events := holon.Subscribe(client.Options{AfterSeq: &after, ThreadIDs: threads, RetryFirst: true})
	err := events.Follow(ctx, view, func(_ client.Event, change fold.Change) error {
		for _, gone := range change.Superseded {
			if text, was := shown[gone.ItemID]; was {
				delete(shown, gone.ItemID)
				fmt.Println("~", text)
			}
		}
		if item := change.Item; item != nil && item.Live && item.Type == "agent_message" && item.Status == "completed" {
			if text, _ := item.Text(); shown[item.ItemID] != text {
				shown[item.ItemID] = text
				fmt.Println("+", text)
			}
		}
		if turn := view.Turn(turnID); turn != nil && turn.Ended() {
			fmt.Println("=", turn.State)
			return ended
		}
		return nil
	})
	if err != ended {
		log.Fatal(err)
	}
}
