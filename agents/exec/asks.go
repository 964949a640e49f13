package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// maxAsks is how many questions may wait at once: more than a person answers.
const maxAsks = 16

// asks are the questions of one prompt that wait for their answers. Each has a
// goroutine, which stop ends.
type asks struct {
	p  *turns.Prompt
	in *feeder

	mu      sync.Mutex
	open    map[string]bool
	ctx     context.Context // for all questions; nil before the first
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// waiting reports whether a question of this name waits.
func (a *asks) waiting(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[name]
}

// admits returns an error if a question cannot be asked.
func (a *asks) admits(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case name == "":
		return errors.New("id is missing")
	case !a.in.open():
		return errors.New(`the answer could not be brought: questions need input = "json"`)
	case len(a.open) >= maxAsks:
		return fmt.Errorf("%d questions wait already", maxAsks)
	}
	return nil
}

// start asks a question and returns at once. ctx is the sink's context.
func (a *asks) start(ctx context.Context, name string, q items.Content, o turns.AskOptions) {
	a.mu.Lock()
	if a.ctx == nil {
		a.ctx, a.cancel = context.WithCancel(ctx)
		a.open = map[string]bool{}
	}
	a.open[name] = true
	ctx = a.ctx
	a.mu.Unlock()
	a.running.Go(func() {
		answer, err := a.p.Ask(ctx, q, o)
		a.mu.Lock()
		delete(a.open, name) // before the answer is sent: the agent may then reuse the name
		a.mu.Unlock()
		if err != nil {
			return // the prompt ends; the process gets a signal
		}
		line, err := json.Marshal(answerEvent{Event: "answer", ID: name, Status: answer.Status, Outcome: answer.Outcome, Answer: answer.Answer})
		if err != nil { // does not happen: answers in the log are JSON
			line, _ = json.Marshal(answerEvent{Event: "answer", ID: name, Status: answer.Status, Outcome: answer.Outcome})
		}
		a.in.send(ctx, append(line, '\n'))
	})
}

// stop ends all questions and waits until no goroutine sends any more.
func (a *asks) stop() {
	a.mu.Lock()
	cancel := a.cancel
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	a.running.Wait()
}
