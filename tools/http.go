package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/internal/mend"
)

// message is what must be known of a message before the library reads it.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
}

// call reports whether the message is a call of a tool, which can be cancelled.
func (m *message) call() bool { return m.Method == "tools/call" && len(m.ID) > 0 }

// cancels returns the id of the request that the message cancels.
func (m *message) cancels() (id string, ok bool) {
	var p struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	if m.Method != "notifications/cancelled" || json.Unmarshal(m.Params, &p) != nil {
		return "", false
	}
	return idOf(p.RequestID), true
}

// idOf returns an id as it is compared: a text may be written in several ways.
func idOf(id jsontext.Value) string {
	var text string
	if id.Kind() == '"' && json.Unmarshal(id, &text) == nil {
		return "\"" + text
	}
	return string(bytes.TrimSpace(id))
}

// ServeHTTP answers one POST with one message. The caller has read and bounded the
// body. The context of the request must be of an agent.
//
// Each POST is a session of its own to the library, so notifications/cancelled
// never reaches the call that it is about: calls are found here, by the token and
// the id of the request. A cancelled call is not answered: its stream ends.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	body, _ = mend.JSON(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m message
	if len(bytes.TrimLeft(body, " \t\r\n")) > 0 && bytes.TrimLeft(body, " \t\r\n")[0] == '[' {
		http.Error(w, "batches are not supported: send one message", http.StatusBadRequest)
		return
	}
	if err := json.Unmarshal(body, &m); err != nil {
		http.Error(w, "the body is not one JSON-RPC message", http.StatusBadRequest)
		return
	}
	awaited, cancel := context.WithCancel(r.Context())
	defer cancel()
	x := &exchange{w: w, control: http.NewResponseController(w), awaited: awaited, cancel: cancel}
	if m.call() {
		defer s.waiting.enter(callOf(r, idOf(m.ID)), x)()
	} else if id, ok := m.cancels(); ok {
		s.waiting.cancel(callOf(r, id))
	}
	defer x.finish()
	s.http.ServeHTTP(x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// callID names a call: ids of requests are those of one client, and a client is
// known by its token.
type callID struct {
	client [sha256.Size]byte
	id     string
}

func callOf(r *http.Request, id string) callID {
	agent, _ := api.AgentOf(r.Context())
	return callID{sha256.Sum256([]byte(agent.ThreadID + "\x00" + r.Header.Get("Authorization"))), id}
}

// calls are the calls that run. Each has a connection of its own, and the server
// bounds these.
type calls struct {
	mu      sync.Mutex
	running map[callID]map[*exchange]struct{} // several, if a client uses an id twice
}

// enter adds a call; the function that it returns removes it.
func (c *calls) enter(id callID, x *exchange) (leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = make(map[callID]map[*exchange]struct{})
	}
	if c.running[id] == nil {
		c.running[id] = make(map[*exchange]struct{})
	}
	c.running[id][x] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.running[id], x); len(c.running[id]) == 0 {
			delete(c.running, id)
		}
	}
}

// cancel ends the waiting of a call, which is not answered then. It means nothing for one that is answered:
// some clients cancel every call.
func (c *calls) cancel(id callID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for x := range c.running[id] {
		x.giveUp()
	}
}
