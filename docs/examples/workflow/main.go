// Command workflow is a workflow in Go: one job, then two at the same time, then one that has both
// results. An agent of kind exec runs it; with on_crash = "retry" it is run again when it was cut
// off, and gets the jobs that are done as they are.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

type object = map[string]any

var holon = client.New(client.WithToken(client.At(os.Getenv("HOLON_URL"), "HOLON_URL", "", false), os.Getenv("HOLON_TOKEN")))

// job lets echo do a job, and returns its answer. When this program is run again, the same name
// finds the same work.
func job(name, prompt string) string {
	for {
		var answer struct {
			Results []struct{ State, Text string }
		}
		err := holon.Call(context.Background(), "turn/start", object{
			"job": name, "agent": "echo", "wait_seconds": 600,
			"parent": object{"thread_id": os.Getenv("HOLON_THREAD_ID"), "turn_id": os.Getenv("HOLON_TURN_ID")},
			"input":  []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": prompt}}}},
		}, &answer)
		var refused *client.Error
		if errors.As(err, &refused) && !refused.Retryable { // else the server is full, or restarts
			log.Fatalf("job %s: %v", name, err)
		}
		for _, r := range answer.Results {
			switch r.State {
			case "completed":
				return strings.TrimSpace(r.Text)
			case "failed", "interrupted":
				log.Fatalf("job %s %s", name, r.State)
			}
		}
		time.Sleep(time.Second)
	}
}

func main() {
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // after a crash more follows, about the jobs
	version := strings.TrimSpace(line)
	linux, mac, both := "", "", sync.WaitGroup{}
	both.Go(func() { linux = job("build/linux", "/say linux "+version) })
	both.Go(func() { mac = job("build/mac", "/say mac "+version) })
	both.Wait()
	fmt.Println(job("publish", "/say published: "+linux+", "+mac))
}
