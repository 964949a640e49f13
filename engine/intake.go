package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// intake is the queue of an actor: commands, bounded in number, and agent
// output, bounded in bytes. When commands are full, further ones are refused.
// When output is full, the agent waits, so that its pipe is not read (I7). It is
// safe for use by many goroutines.
type intake struct {
	maxCommands int
	maxBytes    int
	bell        chan struct{} // rung when something is put in; capacity 1
	quit        chan struct{} // closed when the actor is to end

	mu       sync.Mutex
	commands []func(*actor)
	output   []output
	bytes    int
	room     chan struct{} // closed when output has been taken

	arrivals     []*arrival
	arrivalBytes int
}

// output is one thing that an agent has put in: for its run or, if that is nil,
// outside of any turn. Exactly one of the members after run is set.
type output struct {
	run       *run
	ops       []items.Op
	question  *pendingQuestion
	end       *turns.Outcome
	delivered string        // the id of the user_message that the agent has received
	sync      chan struct{} // closed once everything before it is durable
	size      int
}

func newIntake(maxCommands, maxBytes int) *intake {
	return &intake{maxCommands: maxCommands, maxBytes: maxBytes, bell: make(chan struct{}, 1), quit: make(chan struct{}), room: make(chan struct{})}
}

func (in *intake) ring() {
	select {
	case in.bell <- struct{}{}:
	default:
	}
}

// command puts a command in. force ignores the bound; it is for the engine's own
// commands, which are few. Errors: ErrOverloaded.
func (in *intake) command(f func(*actor), force bool) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !force && len(in.commands) >= in.maxCommands {
		return turns.ErrOverloaded
	}
	in.commands = append(in.commands, f)
	in.ring()
	return nil
}

// post puts a command of the engine's own at the end of the commands.
func (in *intake) post(f func(*actor)) {
	_ = in.command(f, true) // forced: never refused
}

// stop makes the actor end. It must be called once only.
func (in *intake) stop() { close(in.quit) }

func (in *intake) isStopped() bool {
	select {
	case <-in.quit:
		return true
	default:
		return false
	}
}

// put puts agent output in. It first waits for room, until ctx is done or over is
// closed because the prompt has ended. Output without a size, such as the end of
// a prompt, does not wait.
func (in *intake) put(ctx context.Context, over <-chan struct{}, o output) error {
	for {
		in.mu.Lock()
		if in.bytes == 0 || in.bytes+o.size <= in.maxBytes || o.size == 0 {
			in.output = append(in.output, o)
			in.bytes += o.size
			in.ring()
			in.mu.Unlock()
			return nil
		}
		room := in.room
		in.mu.Unlock()
		select {
		case <-room:
		case <-over:
			return turns.ErrPromptOver
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// putOps puts ops in. It splits large groups, so that the bound on the intake
// holds and the first part can be committed meanwhile.
func (in *intake) putOps(ctx context.Context, over <-chan struct{}, r *run, ops []items.Op) error {
	for len(ops) > 0 {
		n, size := 0, 0
		for n < len(ops) && n < unitEvents && (n == 0 || size < unitBytes) {
			size += opSize(ops[n])
			n++
		}
		if err := in.put(ctx, over, output{run: r, ops: ops[:n], size: size}); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// takeCommand returns the next command, nil if there is none.
func (in *intake) takeCommand() func(*actor) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.commands) == 0 {
		return nil
	}
	f := in.commands[0]
	in.commands[0] = nil
	in.commands = in.commands[1:]
	return f
}

// takeOutput returns the next output; ok is false if there is none.
func (in *intake) takeOutput() (o output, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.output) == 0 {
		return output{}, false
	}
	o = in.output[0]
	in.output[0] = output{}
	in.output = in.output[1:]
	in.bytes -= o.size
	close(in.room)
	in.room = make(chan struct{})
	return o, true
}

// putBack puts back what takeOutput returned last, or the rest of it.
func (in *intake) putBack(o output) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.output = slices.Insert(in.output, 0, o)
	in.bytes += o.size
}

// endsNext reports whether the next output is the end of a prompt.
func (in *intake) endsNext() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.output) > 0 && in.output[0].end != nil
}

// noOutput reports whether no output waits.
func (in *intake) noOutput() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.output) == 0
}

// empty reports whether nothing waits.
func (in *intake) empty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.commands) == 0 && len(in.output) == 0 && len(in.arrivals) == 0
}

// opSize estimates what an op takes in memory and in the log.
func opSize(op items.Op) int {
	const overhead = 256
	switch op := op.(type) {
	case items.Create:
		return overhead + contentSize(op.Content)
	case items.Update:
		return overhead + contentSize(op.Content)
	case items.Append:
		return overhead + len(op.Text)
	case items.Progress:
		return overhead + len(op.Message)
	case items.SetThread:
		return overhead + len(op.Title) + len(op.Config) + len(op.AgentSessionID)
	}
	return overhead
}

// contentSize counts the members of content that can be large.
func contentSize(c items.Content) int {
	n := 0
	raws := func(list ...items.Raw) {
		for _, r := range list {
			n += len(r)
		}
	}
	switch c := c.(type) {
	case nil:
		return 0
	case items.ToolCall:
		raws(c.Input)
		raws(c.Content...)
	case items.CommandExecution:
		n += len(c.Command)
		raws(c.Input)
		raws(c.Content...)
	case items.Reasoning:
		n += len(c.Summary)
	case items.Plan:
		for _, e := range c.Entries {
			n += len(e.Content)
		}
	case items.FileChange:
		for _, ch := range c.Changes {
			n += len(ch.OldText) + len(ch.NewText)
		}
		raws(c.Input)
		raws(c.Content...)
		n += len(c.Output)
	case items.PermissionRequest:
		n += len(c.Title) + len(c.Description) + len(c.Subject.Command)
	case items.Question:
		n += len(c.Message)
		raws(c.Schema)
	case items.Notice:
		n += len(c.Message)
		raws(c.Data)
	case items.Error:
		n += len(c.Message)
		raws(c.Data)
	case items.Extension:
		raws(c.Payload)
	}
	raws(items.RawOf(c)...)
	text, _ := items.TextOf(c)
	return n + len(text)
}
