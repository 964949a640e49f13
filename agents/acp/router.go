package acp

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"
)

// Bounds of the updates that are kept for an unknown session: an agent may send
// updates of a new session before it has answered session/new.
const (
	maxStrays     = 64
	maxStrayBytes = 256 << 10
)

// router passes the messages of a process to their sessions. Only the reader's
// goroutine routes; other goroutines add and remove sessions.
type router struct {
	pr *proc

	mu       sync.Mutex
	sessions map[string]*session
	opening  int // running requests that make a session
	strays   []stray
	bytes    int // of strays
	ended    bool
}

type stray struct {
	sessionID string
	ev        event
}

// notified implements peerHost.
func (pr *proc) notified(method string, params jsontext.Value) {
	if method == methodAuthStatus { // about the process, not a session
		pr.login.set(params)
		return
	}
	var about struct {
		SessionID string         `json:"sessionId"`
		Update    jsontext.Value `json:"update"`
	}
	if err := json.Unmarshal(params, &about, lenient); err != nil || about.SessionID == "" {
		pr.stray("notification "+shorten(method, 128), len(params))
		return
	}
	ev := event{kind: evUpdate, raw: about.Update}
	if method != methodUpdate || len(about.Update) == 0 {
		if !params.IsValid() {
			params, _ = repair(params) // as before, as part of its line
		}
		ev = event{kind: evOther, method: method, raw: params}
	}
	ev.size = len(ev.raw) + overhead
	pr.router.route(about.SessionID, ev)
}

// asked implements peerHost.
func (pr *proc) asked(id jsontext.Value, method string, params jsontext.Value) {
	switch method {
	case methodPermission, methodElicitation, methodElicitOld:
	default: // fs and terminal methods were not offered
		pr.peer.refuse(id, codeMethodNotFound, "this client does not have the method "+shorten(method, 128))
		return
	}
	about := decode[struct {
		SessionID string `json:"sessionId"`
	}](params)
	q := &request{peer: pr.peer, id: id, method: method}
	s := pr.router.find(about.SessionID)
	if s == nil {
		pr.stray(method, len(params))
		q.cancel()
		return
	}
	q.s = s
	s.request(q, event{kind: evRequest, request: q, raw: params, size: len(params) + overhead})
}

// maxNoise is how often the noise of a process is logged; the rest is counted.
const maxNoise = 100

// noise implements peerHost.
func (pr *proc) noise(text string, size int) {
	if text == "" {
		text = "a line that is too long was skipped"
		pr.router.tell(noticeEvent(fmt.Sprintf("The agent sent a message of more than %d bytes, the most that is taken: it was skipped.", size)))
	} else {
		_, _ = pr.said.Write([]byte(text + "\n")) // a Tail takes all
	}
	if pr.noises++; pr.noises <= maxNoise {
		pr.log().Warn("agent sent what belongs to nothing", zap.String("text", text), zap.Int("bytes", size))
	}
}

// dropped implements peerHost. Only a turn that the line names is shown what it says: it
// may be another thread's.
func (pr *proc) dropped(quote, sessionID string, size int) {
	_, _ = pr.said.Write([]byte(quote + "\n")) // a Tail takes all
	if pr.noises++; pr.noises <= maxNoise {
		pr.log().Warn("agent sent what is not a message", zap.String("text", quote), zap.Int("bytes", size))
	}
	if s := pr.router.find(sessionID); s != nil {
		s.take(droppedEvent("The line: " + quote))
		return
	}
	pr.router.tell(droppedEvent(fmt.Sprintf("It has %d bytes and does not say which turn it is for.", size)))
}

// stray logs a message that is about no known session.
func (pr *proc) stray(what string, size int) {
	if pr.noises++; pr.noises <= maxNoise {
		pr.log().Warn("agent sent what belongs to no session", zap.String("what", what), zap.Int("bytes", size))
	}
}

func (r *router) find(id string) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id]
}

// route passes ev to its session. It waits while the budget is used up.
func (r *router) route(id string, ev event) {
	r.mu.Lock()
	s := r.sessions[id]
	if s == nil {
		kept := r.opening > 0 && len(r.strays) < maxStrays && r.bytes+ev.size <= maxStrayBytes
		if kept {
			r.strays = append(r.strays, stray{id, ev})
			r.bytes += ev.size
		}
		r.mu.Unlock()
		if !kept {
			r.pr.stray("update", ev.size)
		}
		return
	}
	r.mu.Unlock()
	s.take(ev)
}

// tell queues an event without a session in every session in which a prompt
// runs.
func (r *router) tell(ev event) {
	for _, s := range r.list() {
		if s.prompting() {
			s.take(ev)
		}
	}
}

// expect records that a session is about to be made. The caller calls over when it
// has been made or not.
func (r *router) expect() (over func()) {
	r.mu.Lock()
	r.opening++
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.opening--; r.opening == 0 {
			r.strays, r.bytes = nil, 0
		}
	}
}

// add adds a session under its id, passes it the kept updates, and starts its
// goroutine. It reports false if the process has ended or the id is in use.
func (r *router) add(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.sessions[s.id] != nil {
		return false
	}
	if r.sessions == nil {
		r.sessions = map[string]*session{}
	}
	r.sessions[s.id] = s
	rest := r.strays[:0]
	for _, st := range r.strays {
		if st.sessionID == s.id {
			st.ev.size = 0 // bounded by maxStrayBytes
			s.stray(st.ev)
		} else {
			rest = append(rest, st)
		}
	}
	r.strays = rest
	r.pr.a.running.Go(s.pump)
	return true
}

// remove removes a session.
func (r *router) remove(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.id] == s {
		delete(r.sessions, s.id)
	}
}

func (r *router) list() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*session, 0, len(r.sessions))
	for _, s := range r.sessions {
		out = append(out, s)
	}
	return out
}

func (r *router) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

// end ends all sessions: no more messages come.
func (r *router) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	for _, s := range r.list() {
		s.end()
		r.remove(s)
	}
}
