package threads

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// State is where a thread is in its life.
type State string

// The states of a thread. Absent is the state before it exists. A closing
// thread waits for its active turn to end.
const (
	Absent  State = ""
	Running State = "running"
	Paused  State = "paused"
	Closing State = "closing"
	Closed  State = "closed"
)

// States lists the states that clients can see.
var States = []State{Running, Paused, Closing, Closed}

// Parent is the thread, and the turn in it, for which another one works. Attempt
// is that of the turn when the other one started; 0 without a turn. The server
// sets it.
type Parent struct {
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id,omitzero"`
	Attempt  int    `json:"attempt,omitzero"`
}

// MaxLevel is how many levels of child threads a thread may have below it.
const MaxLevel = 8

// ForkedFrom says which thread's conversation a thread continues, and the newest
// turn that both have in common. TurnID is "" if no turn had run.
type ForkedFrom struct {
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id,omitzero"`
}

// TitleBy says who gave a title, as far as it matters: "" is the agent, or nobody.
type TitleBy string

// ByClient is a title that a client gave, in thread/start or thread/rename.
const ByClient TitleBy = "client"

// byOf returns who has given the title of a thread that a client has set to this one.
func byOf(title string) TitleBy {
	if title == "" {
		return ""
	}
	return ByClient
}

// Thread is the row of a thread and what reads return: the fold of the
// thread's events. LatestSeq and LatestThreadSeq are those of its newest
// event of any kind.
type Thread struct {
	ThreadID        string         `json:"thread_id"`
	SessionID       string         `json:"session_id"` // the same, for older clients
	State           State          `json:"state"`
	Agent           string         `json:"agent"`
	Title           string         `json:"title,omitzero"`
	TitleBy         TitleBy        `json:"title_by,omitzero"` // ByClient: no agent replaces Title
	Cwd             string         `json:"cwd,omitzero"`
	Metadata        jsontext.Value `json:"metadata,omitzero"`
	Config          jsontext.Value `json:"config,omitzero"`
	AgentSessionID  string         `json:"agent_session_id,omitzero"`
	Parent          *Parent        `json:"parent,omitzero"`
	Job             string         `json:"job,omitzero"`            // of the thread of a job: its name in the parent turn
	Level           int            `json:"level,omitzero"`          // of a child thread, from 1; 0 = it is none, whatever Parent says
	RootThreadID    string         `json:"root_thread_id,omitzero"` // of a child thread: where its tree begins
	ForkedFrom      *ForkedFrom    `json:"forked_from,omitzero"`
	Reason          string         `json:"reason,omitzero"`
	Held            bool           `json:"held,omitzero"` // not woken, because a client interrupted its last turn
	StartedAt       notify.Time    `json:"started_at"`
	ClosedAt        notify.Time    `json:"closed_at,omitzero"`
	CreatedSeq      int64          `json:"created_seq"`
	UpdatedSeq      int64          `json:"updated_seq"`
	LatestSeq       int64          `json:"latest_seq"`
	LatestThreadSeq int64          `json:"latest_thread_seq"`
	Spent           *Spent         `json:"-"` // nil: no agent has reported usage; see Spend
	Lines           *items.Lines   `json:"-"` // nil: none were counted; see CountLines
}

// Changed is the body of thread/started, thread/resumed, thread/paused and
// thread/closed. Cwd, Metadata, Parent, Level, RootThreadID and ForkedFrom are on
// thread/started only. A Parent without a Level is from before there were child
// threads. A Title of thread/started was given by a client.
type Changed struct {
	Type      string         `json:"type"`
	State     State          `json:"state"`
	StartedAt notify.Time    `json:"started_at"`
	SessionID string         `json:"session_id"`
	Agent     string         `json:"agent"`
	Title     string         `json:"title,omitzero"`
	Reason    string         `json:"reason,omitzero"`
	Cwd       string         `json:"cwd,omitzero"`
	Metadata  jsontext.Value `json:"metadata,omitzero"`
	Parent    *Parent        `json:"parent,omitzero"`

	Job          string      `json:"job,omitzero"` // of the thread of a job
	Level        int         `json:"level,omitzero"`
	RootThreadID string      `json:"root_thread_id,omitzero"`
	ForkedFrom   *ForkedFrom `json:"forked_from,omitzero"`

	RequestedBy string `json:"requested_by,omitzero"` // the named token ("token:" and its name) that asked; "" = none
}

// Updated is the body of thread/updated: what changed, and nothing else.
// State is closing or "". Title is one of the agent, unless TitleBy is ByClient: then a
// client has given it, and without a Title it has given the title back.
type Updated struct {
	Type           string         `json:"type"`
	Title          string         `json:"title,omitzero"`
	TitleBy        TitleBy        `json:"title_by,omitzero"`
	Cwd            string         `json:"cwd,omitzero"`
	Config         jsontext.Value `json:"config,omitzero"`
	AgentSessionID string         `json:"agent_session_id,omitzero"`
	Metadata       jsontext.Value `json:"metadata,omitzero"`
	State          State          `json:"state,omitzero"`
	Reason         string         `json:"reason,omitzero"`

	RequestedBy string `json:"requested_by,omitzero"` // as in Changed
}

// Apply returns the row that the event leaves, or nil if it changes none.
// prev is nil before thread/started, and is not changed.
func Apply(prev *Thread, h notify.Header, body any) *Thread {
	var next Thread
	switch b := body.(type) {
	case *Changed:
		if prev != nil {
			next = *prev
		} else {
			next = Thread{
				ThreadID: h.ThreadID, SessionID: h.ThreadID, Agent: b.Agent, Title: b.Title, TitleBy: byOf(b.Title),
				Cwd: b.Cwd, Metadata: b.Metadata, Parent: b.Parent, Job: b.Job, Level: b.Level, RootThreadID: b.RootThreadID, ForkedFrom: b.ForkedFrom,
				StartedAt: b.StartedAt, CreatedSeq: h.Seq,
			}
		}
		next.State, next.Reason = b.State, b.Reason
		if b.State == Closed {
			next.ClosedAt = h.Timestamp
		}
	case *Updated:
		if prev == nil {
			return nil
		}
		next = *prev
		switch {
		case b.TitleBy == ByClient:
			next.Title, next.TitleBy = b.Title, byOf(b.Title)
		case b.Title != "":
			next.Title, next.TitleBy = b.Title, ""
		}
		if b.Cwd != "" {
			next.Cwd = b.Cwd
		}
		if b.Config != nil {
			next.Config = b.Config
		}
		if b.AgentSessionID != "" {
			next.AgentSessionID = b.AgentSessionID
		}
		if b.Metadata != nil {
			next.Metadata = b.Metadata
		}
		if b.State != "" {
			next.State, next.Reason = b.State, b.Reason
		}
	default:
		return nil
	}
	next.UpdatedSeq = h.Seq
	return &next
}

// Root returns where the tree of the thread begins: itself, unless it is a child thread.
func (t *Thread) Root() string {
	if t.Level > 0 {
		return t.RootThreadID
	}
	return t.ThreadID
}

// Open reports whether turns can still run in the thread.
func (t *Thread) Open() bool { return t.State == Running || t.State == Paused }

// Verb is what a client, or the end of a turn, does to a thread.
type Verb string

// The verbs. VerbEnd is the end of the last turn of a closing thread.
const (
	VerbStart  Verb = "start"
	VerbPause  Verb = "pause"
	VerbResume Verb = "resume"
	VerbClose  Verb = "close"
	VerbEnd    Verb = "end"
)

// Verbs lists all verbs.
var Verbs = []Verb{VerbStart, VerbPause, VerbResume, VerbClose, VerbEnd}

// Next returns the state that follows. It equals state if the verb was done
// already: repeating succeeds and changes nothing. busy says that a turn is
// active: the thread then is closing before it is closed.
func Next(state State, verb Verb, busy bool) (State, error) {
	if state == Absent {
		if verb == VerbStart {
			return Running, nil
		}
		return state, ErrNotFound
	}
	switch verb {
	case VerbStart:
		if state == Closing || state == Closed {
			return state, ErrClosed
		}
		return state, nil
	case VerbPause:
		if state == Closing || state == Closed {
			return state, ErrClosed
		}
		return Paused, nil
	case VerbResume:
		if state == Closing || state == Closed {
			return state, ErrClosed
		}
		return Running, nil
	case VerbClose:
		if state == Closing || state == Closed {
			return state, nil
		}
		if busy {
			return Closing, nil
		}
		return Closed, nil
	case VerbEnd:
		if state == Closing && !busy {
			return Closed, nil
		}
		return state, nil
	}
	return state, errors.New("unknown verb " + string(verb))
}

// Errors of this package. api maps them to the wire.
var (
	ErrNotFound = errors.New("no such thread")
	ErrClosed   = errors.New("the thread is closed")
	ErrPaused   = errors.New("the thread is paused")
	ErrConflict = errors.New("the thread exists with another agent, cwd or parent")
)

// NewID returns a new thread id.
func NewID() string { return "thread_" + uuid.Must(uuid.NewV7()).String() }

// IDOf returns the id of a thread that somebody wants to find again by a name of their own:
// the same one for the same name.
func IDOf(name string) string {
	return "thread_" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
}

// ValidNewID reports whether a client may use id for a new thread:
// [A-Za-z0-9][A-Za-z0-9_-]{0,63}. An id that begins with - looks like a flag of a
// command.
func ValidNewID(id string) bool { return ValidID(id) && id[0] != '-' && id[0] != '_' }

// ValidID reports whether id may be that of a thread: [A-Za-z0-9_-]{1,64}. Threads of
// earlier versions may begin with any of these.
func ValidID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// Query selects threads for thread/list. Threads come in the order in which
// they were started, and Cursor is the created_seq after which the page begins,
// as text. Newest reverses the order: the page then begins before Cursor. IDs selects
// among these threads only; unknown ones are left out. Within leaves only its threads;
// nil leaves all.
type Query struct {
	IDs    []string // nil = all
	State  State
	Agent  string
	Within notify.Members
	Cursor string
	Limit  int
	Newest bool
}
