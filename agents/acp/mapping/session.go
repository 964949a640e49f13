package mapping

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Options says how a Session maps. The zero value is usable.
type Options struct {
	// KeepRaw collects the updates an item was made of under raw of its
	// content, at most 64 KiB an item.
	KeepRaw bool
	// Cwd is the session's working directory: the cwd of commands that name
	// none. "" = not known.
	Cwd string
}

// Session maps what one session of an agent says. Its methods are called in
// the order in which the agent's messages arrived, by one goroutine at a time.
type Session struct {
	o Options
}

// New returns a Session of which nothing is known yet.
func New(o Options) *Session { return &Session{o: o} }

// Begin says that a prompt starts; index is its place in its turn, from 0. It
// forgets the usage of the turn before. What Outside has gathered is to be
// fetched with Flush first, because it belongs to no turn.
func (s *Session) Begin(index int) {}

// Update maps the update object of a session/update that comes while a prompt
// runs. It returns nil for what changes nothing.
func (s *Session) Update(raw jsontext.Value) []items.Op {
	return []items.Op{extension("unknown", raw)}
}

// PromptEnded ends the items that end with the prompt (messages, thoughts,
// plans) and maps the prompt's result (usage); result may be nil. Tool calls
// that the agent left open stay so: the engine ends them with the turn or with
// the prompt. Updates of theirs that come later make a new item.
func (s *Session) PromptEnded(result jsontext.Value, interrupted bool) []items.Op { return nil }

// Outside maps an update that comes while no prompt runs: into items that are
// created ended, and SetThread. Text is gathered, until something else comes
// or Flush; a tool call until it ends, or a prompt begins and goes on with it.
func (s *Session) Outside(raw jsontext.Value) []items.Op {
	return []items.Op{extension("unknown", raw)}
}

// Flush returns the text that Outside has gathered, as an ended item. It is
// to be called when nothing has come for a moment, and before Begin.
func (s *Session) Flush() []items.Op { return nil }

// Gone returns all that Outside has gathered, tool calls that have not ended
// as interrupted: nothing of this session comes any more.
func (s *Session) Gone() []items.Op { return nil }

// Replayed maps an update that comes while the agent repeats the session's
// history: what it says of the thread (mode, options, commands, title)
// counts, items do not, because the log has them.
func (s *Session) Replayed(raw jsontext.Value) []items.Op { return nil }

func extension(kind string, raw jsontext.Value) items.Op {
	return items.Create{
		ItemID: items.NewID(), Status: items.StatusCompleted,
		Content: items.Extension{Type: items.KindExtension, NativeKind: kind, Payload: raw.Clone()},
	}
}
