package relay

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/rpc/frame"
)

// maxCuts is after how many connections in a row a request is given up that were cut,
// answered nothing, and may have been cut by it (requests.cut), as where a proxy refuses its
// size: it would be sent for ever.
const maxCuts = 3

// exchange is one line of the client, and what the server makes of it.
type exchange struct {
	line    []byte
	members []frame.Message // they point into line
	batch   bool
	begun   bool // this connection has taken a part of it
	cuts    int  // see maxCuts
	number  int  // they count up in the order of the lines
}

// newExchange reads a line as the server does. The line must not change any more.
func newExchange(parser *frame.Parser, line []byte) *exchange {
	members, batch := parser.Parse(line)
	defer parser.Forget()
	return &exchange{line: line, members: slices.Clone(members), batch: batch}
}

// answers reports whether a message is answered: requests and what is invalid are,
// notifications and responses are not.
func answers(m *frame.Message) bool { return m.Fault != frame.Dropped && !m.Notification() }

// answered reports whether the line is answered.
func (x *exchange) answered() bool {
	return slices.ContainsFunc(x.members, func(m frame.Message) bool { return answers(&m) })
}

// member returns the first message that is answered under an id, nil if there is none. The
// key is that of frame.IDKey.
func (x *exchange) member(key string) *frame.Message {
	for i := range x.members {
		if m := &x.members[i]; answers(m) && frame.IDKey(m.ID) == key {
			return m
		}
	}
	return nil
}

// repeatable reports whether the line may be executed twice. What is invalid is not
// executed.
func (x *exchange) repeatable() bool {
	return !slices.ContainsFunc(x.members, func(m frame.Message) bool {
		return m.Fault == frame.NoFault && !api.Repeatable(m.Method, m.Params)
	})
}

// pin makes a subscription from now on, which the server may have begun without an answer,
// begin at the latest where it did: its client has got nothing of it, so nothing may be
// left out of it. It reports whether that is known, as it is not in a batch and for a client
// that has no stream.
func (x *exchange) pin(parser *frame.Parser, s *subscription) bool {
	if !slices.ContainsFunc(x.members, fromNow) {
		return true
	}
	if x.batch || s.none || !s.known {
		return false
	}
	var params map[string]jsontext.Value
	_ = json.Unmarshal(x.members[0].Params, &params) // fromNow has read them
	pinned := newExchange(parser, s.goOn(string(x.members[0].ID), params))
	x.line, x.members = pinned.line, pinned.members
	return true
}

// fromNow reports whether a message subscribes and does not say where it begins.
func fromNow(m frame.Message) bool {
	if m.Fault != frame.NoFault || m.Method != subscribe {
		return false
	}
	var p struct {
		AfterSeq jsontext.Value `json:"after_seq"`
		Consumer jsontext.Value `json:"consumer"`
	}
	absent := func(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }
	return (len(m.Params) == 0 || json.Unmarshal(m.Params, &p) == nil) && absent(p.AfterSeq) && absent(p.Consumer)
}

// notifies reports whether the line has a notification.
func (x *exchange) notifies() bool {
	return slices.ContainsFunc(x.members, func(m frame.Message) bool { return m.Notification() })
}

// subscribes reports whether one of them changes what the connection is subscribed to: no
// answer will tell whether it has.
func (x *exchange) subscribes() bool {
	return slices.ContainsFunc(x.members, func(m frame.Message) bool { return m.Notification() && boundToConnection(m.Method) })
}

// outcomeUnknown returns the answer to what was sent and is not sent again.
func (x *exchange) outcomeUnknown() []byte {
	var parts [][]byte
	for i := range x.members {
		if m := &x.members[i]; answers(m) {
			parts = append(parts, unknownTo(m))
		}
	}
	if !x.batch {
		return parts[0]
	}
	return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
}

func unknownTo(m *frame.Message) []byte {
	e := api.Errorf(api.KindOutcomeUnknown, "the connection was lost before the answer came: the request may have taken effect or not")
	e.Data.Method = m.Method
	id := jsontext.Value(m.ID)
	if id == nil {
		id = jsontext.Value("null")
	}
	line, err := json.Marshal(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   *api.Error     `json:"error"`
	}{"2.0", id, e}, api.WireOptions)
	if err != nil { // an id is JSON, and the rest always encodes
		panic(err)
	}
	return line
}
