// Package agenttest tests agents. Sink records an agent's ops and checks each
// as the engine would. Exercise is the suite that every agent must pass. Serve
// runs an engine on a store. Processes and Descriptors read /proc. Only tests
// import it.
package agenttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/turns"
)

// ErrOver is the error of a Sink after Over. It stands for the engine's error
// after it ended a turn without its agent.
var ErrOver = errors.New("the prompt is over")

// Item is the state of one item after its ops.
type Item struct {
	ID      string
	Step    string
	Kind    items.Kind
	Status  items.Status
	Content items.Content // as created or last updated
	Text    string        // with its deltas; only of kinds that stream
	Deltas  []string
}

// Sink records and checks the ops of an agent. Make it with NewSink. Set its
// fields before an agent gets it. Its methods may be called from many
// goroutines.
type Sink struct {
	// OnAsk answers questions; nil = Ask waits until ctx ends.
	OnAsk func(ctx context.Context, question items.Content, o turns.AskOptions) (turns.Answer, error)
	// Hold blocks every Emit until it is closed; nil = nothing blocks.
	Hold chan struct{}

	t        testing.TB
	mu       sync.Mutex
	byID     map[string]*Item
	order    []*Item
	progress []string
	usage    *items.Usage
	injector turns.Injector
	thread   []items.SetThread
	steps    map[string]bool // the started ones, by path; true = not ended
	stepOps  []items.Op
	emits    int
	over     bool
	returned bool
	changed  chan struct{} // closed and replaced at each change
}

// NewSink returns a Sink that reports every forbidden op to t.
func NewSink(t testing.TB) *Sink {
	return &Sink{t: t, byID: map[string]*Item{}, changed: make(chan struct{})}
}

// Emit records ops. See turns.Sink.
func (s *Sink) Emit(ctx context.Context, ops []items.Op) error {
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned {
		s.t.Errorf("emitted %d ops after Run had returned: %#v", len(ops), ops)
	}
	if s.over {
		return ErrOver
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.emits++
	for _, op := range ops {
		s.apply(op)
	}
	s.wake()
	return nil
}

func (s *Sink) apply(op items.Op) {
	switch op := op.(type) {
	case items.Create:
		kind := op.Content.Kind()
		status := s.next(op.ItemID, kind, items.VerbCreate, op.Status)
		text, _ := items.TextOf(op.Content)
		it := &Item{ID: op.ItemID, Step: op.Step, Kind: kind, Status: status, Content: op.Content, Text: text}
		if _, started := s.steps[op.Step]; op.Step != "" && !started {
			s.t.Errorf("item %s is of step %q, which has not been started", op.ItemID, op.Step)
		}
		s.byID[op.ItemID] = it
		s.order = append(s.order, it)
		s.encodes(op.Content)
	case items.Append:
		if !utf8.ValidString(op.Text) {
			s.t.Errorf("delta %.40q is no UTF-8", op.Text)
		}
		if op.Text == "" {
			s.t.Errorf("empty delta for %s", op.ItemID)
		}
		s.next(op.ItemID, s.kind(op.ItemID), items.VerbAppend, "")
		if it := s.byID[op.ItemID]; it != nil {
			it.Text += op.Text
			it.Deltas = append(it.Deltas, op.Text)
		}
	case items.Update:
		status := s.next(op.ItemID, s.kind(op.ItemID), items.VerbUpdate, op.Status)
		it := s.byID[op.ItemID]
		if it == nil {
			return
		}
		it.Status = status
		if op.Content == nil {
			return
		}
		if op.Content.Kind() != it.Kind {
			s.t.Errorf("item %s turned from %s into %s", op.ItemID, it.Kind, op.Content.Kind())
		}
		it.Content = op.Content
		it.Text, _ = items.TextOf(op.Content)
		s.encodes(op.Content)
	case items.Delete:
		status := s.next(op.ItemID, s.kind(op.ItemID), items.VerbDelete, "")
		if it := s.byID[op.ItemID]; it != nil {
			it.Status = status
		}
	case items.StepStart:
		if !notify.ValidStep(op.Step) {
			s.t.Errorf("step %q", op.Step)
		}
		s.startStep(op.Step)
		s.stepOps = append(s.stepOps, op)
	case items.StepEnd:
		if !s.steps[op.Step] {
			s.t.Errorf("the end of step %q, which is not under way", op.Step)
		}
		s.steps[op.Step] = false
		s.stepOps = append(s.stepOps, op)
	case items.Progress:
		if op.State != "" && op.State != string(turns.Starting) && op.State != string(turns.Running) {
			s.t.Errorf("progress with state %q", op.State)
		}
		s.progress = append(s.progress, op.Message)
	case items.SetThread:
		s.thread = append(s.thread, op)
	case items.SetUsage:
		s.usage = &op.Usage
		s.encodes(op.Usage)
	default:
		s.t.Errorf("unknown op %T", op)
	}
}

// startStep records the start of a step. If the step started before, it
// interrupts the step's open items, as the engine does.
func (s *Sink) startStep(path string) {
	if s.steps == nil {
		s.steps = map[string]bool{}
	}
	for p := range s.steps {
		if strings.HasPrefix(p, path+"/") {
			delete(s.steps, p)
		}
	}
	for p := path; p != ""; p = notify.StepAbove(p) {
		if _, started := s.steps[p]; !started || p == path {
			s.steps[p] = true
		}
	}
	for _, it := range s.order {
		if it.Status.Open() && (it.Step == path || strings.HasPrefix(it.Step, path+"/")) {
			it.Status = items.StatusInterrupted
		}
	}
}

// Steps returns the ops that started and ended steps, in order.
func (s *Sink) Steps() []items.Op {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stepOps)
}

func (s *Sink) next(id string, kind items.Kind, verb items.Verb, want items.Status) items.Status {
	status := items.Absent
	if it := s.byID[id]; it != nil {
		status = it.Status
	}
	next, err := items.Next(status, kind, verb, want)
	if err != nil {
		s.t.Errorf("item %s: %v", id, err)
	}
	return next
}

func (s *Sink) kind(id string) items.Kind {
	if it := s.byID[id]; it != nil {
		return it.Kind
	}
	return ""
}

func (s *Sink) encodes(c items.Content) {
	raw, err := items.Encode(c)
	if err != nil {
		s.t.Errorf("content %#v: %v", c, err)
	} else if !utf8.Valid(raw) {
		s.t.Errorf("content %.80q is no UTF-8", raw)
	}
}

// Ask records the question, gets the answer from OnAsk and records it.
func (s *Sink) Ask(ctx context.Context, id string, q items.Content, o turns.AskOptions) (turns.Answer, error) {
	s.mu.Lock()
	if s.returned {
		s.t.Errorf("asked %#v after Run had returned", q)
	}
	if s.over {
		s.mu.Unlock()
		return turns.Answer{}, ErrOver
	}
	if !q.Kind().IsQuestion() {
		s.t.Errorf("asked with content %s", q.Kind())
	}
	s.apply(items.Create{ItemID: id, Content: q})
	s.wake()
	s.mu.Unlock()

	answer, err := turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, error(nil)
	if o.OptionID != "" {
		answer = s.chosen(q, o.OptionID)
	} else if s.OnAsk != nil {
		answer, err = s.OnAsk(ctx, q, o)
	} else {
		<-ctx.Done()
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.byID[id].Status = items.StatusCancelled
		return turns.Answer{}, err
	}
	s.byID[id].Status = s.next(id, q.Kind(), items.VerbResolve, answer.Status)
	return answer, nil
}

// chosen returns the answer for AskOptions.OptionID, which was chosen before
// the question.
func (s *Sink) chosen(q items.Content, id string) turns.Answer {
	if p, ok := q.(items.PermissionRequest); ok {
		for _, o := range p.Options {
			if o.OptionID != id {
				continue
			}
			status := items.StatusDeclined
			if question.Allows(o.Kind) {
				status = items.StatusCompleted
			}
			return turns.Answer{Status: status, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: id, Kind: o.Kind}}
		}
	}
	s.t.Errorf("the option %q chosen beforehand is none of %#v", id, q)
	return turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}
}

func (s *Sink) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Over makes every Emit and Ask from now on return ErrOver.
func (s *Sink) Over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Run gives the agent a prompt with this sink and input. It checks the outcome
// and returns it. The agent must not emit anything afterwards.
func (s *Sink) Run(ctx context.Context, a turns.Agent, p turns.Prompt, input ...string) turns.Outcome {
	s.t.Helper()
	if p.ThreadID == "" {
		p.ThreadID, p.TurnID, p.Attempt = "thread_test", "turn_test", 1
	}
	for _, text := range input {
		p.Input = append(p.Input, Message(text))
	}
	p.Sink = s
	out := a.Run(ctx, &p)
	s.mu.Lock()
	s.returned = true
	s.mu.Unlock()
	switch out.State {
	case "", turns.Completed, turns.Interrupted:
		if out.Failure != nil {
			s.t.Errorf("outcome %q with failure %+v", out.State, *out.Failure)
		}
	case turns.Failed:
		if out.Failure == nil || out.Failure.Kind == "" || out.Failure.Message == "" {
			s.t.Errorf("failed without saying why: %+v", out.Failure)
		}
	default:
		s.t.Errorf("outcome %q", out.State)
	}
	return out
}

// Message returns a client's message with this text.
func Message(text string) items.UserMessage {
	return items.UserMessage{
		Type: items.KindUserMessage, Role: "user", Origin: items.OriginClient,
		Content: []items.Part{{Type: items.PartText, Text: text}},
	}
}

// Items returns a copy of the items so far, in the order of creation.
func (s *Sink) Items() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Item, len(s.order))
	for i, it := range s.order {
		out[i] = *it
		out[i].Deltas = slices.Clone(it.Deltas)
	}
	return out
}

// Texts returns the text of each item of this kind, in the order of creation.
func (s *Sink) Texts(kind items.Kind) []string {
	var out []string
	for _, it := range s.Items() {
		if it.Kind == kind {
			out = append(out, it.Text)
		}
	}
	return out
}

// Open returns the items that have not ended.
func (s *Sink) Open() []Item {
	return slices.DeleteFunc(s.Items(), func(it Item) bool { return !it.Status.Open() })
}

// Progress returns the progress messages so far.
func (s *Sink) Progress() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.progress)
}

// Thread returns the agent's SetThread ops, in order.
func (s *Sink) Thread() []items.SetThread {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.thread)
}

// Usage returns the last usage, or nil.
func (s *Sink) Usage() *items.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

// Emits returns how many calls of Emit were accepted.
func (s *Sink) Emits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emits
}

// Wait blocks until ok returns true; ok may call the methods of s. It returns
// false when ctx ends first.
func (s *Sink) Wait(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Sync returns at once: every emitted op counts as durable.
func (s *Sink) Sync(ctx context.Context) error { return ctx.Err() }

// OnSteer keeps the agent's injector. See Inject.
func (s *Sink) OnSteer(f turns.Injector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injector = f
	s.wake()
}

// Steerable reports whether the agent accepts steered text now.
func (s *Sink) Steerable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.injector != nil
}

// Inject passes a message to the agent, as the engine does for turn/steer.
func (s *Sink) Inject(ctx context.Context, msg items.UserMessage) error {
	s.mu.Lock()
	f := s.injector
	s.mu.Unlock()
	if f == nil {
		return turns.ErrNotInjected
	}
	return f(ctx, msg)
}
