package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// injectWithin is how long the end of a prompt waits for an injection that
// ignores its context. Then the text counts as not delivered.
const injectWithin = 2 * time.Second

// injection is a steered text on its way to the agent at work.
type injection struct {
	itemID  string
	message items.UserMessage
}

// injector delivers the texts steered to a prompt to its agent, one at a time and
// in order, as long as the agent accepts them. Texts that come before the agent says
// that it accepts any wait until it does. The first that it does not accept, and all
// later ones, are the turn's next prompt. Delivered texts are reported to the actor
// through the intake, before the prompt's end, so that none is delivered twice or
// lost.
type injector struct {
	mu      sync.Mutex
	f       turns.Injector // nil before the agent accepts text, and when it no longer does
	waiting []injection    // bounded by MaxQueue
	busy    chan struct{}  // closed when the goroutine that injects has ended; nil if there is none
	over    bool           // nothing is injected any more
}

// OnSteer implements Sink.
func (r *run) OnSteer(f turns.Injector) {
	r.inject.mu.Lock()
	defer r.inject.mu.Unlock()
	r.inject.f = f
	r.injectWaiting()
}

// acceptsText implements executor: whether steered text can be injected now.
func (r *run) acceptsText() bool {
	if r.steerQueued || r.ctx.Err() != nil {
		return false
	}
	r.inject.mu.Lock()
	defer r.inject.mu.Unlock()
	return r.inject.f != nil && !r.inject.over
}

// queueInjections queues committed texts for the agent. It does not block. Text
// that comes too late stays among the turn's steers.
func (r *run) queueInjections(list []injection) {
	r.inject.mu.Lock()
	defer r.inject.mu.Unlock()
	if !r.inject.over {
		r.inject.waiting = append(r.inject.waiting, list...)
		r.injectWaiting()
	}
}

// injectWaiting starts to inject the queued texts, if there are any and the agent
// accepts them. The injector is locked.
func (r *run) injectWaiting() {
	in := &r.inject
	if in.f == nil || in.over || in.busy != nil || len(in.waiting) == 0 {
		return
	}
	in.busy = make(chan struct{})
	r.a.e.prompts.Go(r.injectQueued)
}

// injectQueued injects the queued texts, until one is not accepted.
func (r *run) injectQueued() {
	in := &r.inject
	for {
		in.mu.Lock()
		if r.ctx.Err() != nil || in.f == nil {
			in.over = true
		}
		if in.over || len(in.waiting) == 0 {
			close(in.busy)
			in.busy = nil
			in.mu.Unlock()
			return
		}
		f, next := in.f, in.waiting[0]
		in.waiting = in.waiting[1:]
		in.mu.Unlock()
		err := r.injectOne(f, next.message)
		if err != nil {
			in.mu.Lock()
			in.over = true
			in.mu.Unlock()
			continue
		}
		// Like the end of a prompt, this does not wait for room.
		_ = r.a.in.put(context.Background(), r.over, output{run: r, delivered: next.itemID})
	}
}

// injectOne injects one text. A panic of the agent ends only the injection.
func (r *run) injectOne(f turns.Injector, m items.UserMessage) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.a.e.log.Error("agent panicked while it took text", zap.String("turn_id", r.turnID), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			err = fmt.Errorf("the agent panicked: %v", v)
		}
	}()
	return f(r.ctx, m)
}

// endInjection runs when the agent has returned and its context is
// cancelled. Nothing is injected from then on. It waits for an injection under way.
func (r *run) endInjection() {
	in := &r.inject
	in.mu.Lock()
	in.over = true
	busy := in.busy
	in.mu.Unlock()
	if busy != nil && !waitFor(context.Background(), busy, injectWithin) {
		r.a.e.log.Warn("an agent does not confirm a text: it counts as not delivered", zap.String("turn_id", r.turnID))
	}
}

// completeSteer completes a steered text that the agent has received.
func (w *itemWriter) completeSteer(itemID string) {
	act := w.d.active()
	o := act.open.get(itemID)
	if o == nil {
		return
	}
	_ = w.addUpdated(o, items.StatusCompleted)
	act.open.remove(itemID)
	act.dropSteer(itemID)
}
