package relay

import (
	"maps"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The methods whose effect ends with the connection.
const (
	subscribe   = "stream/subscribe"
	unsubscribe = "stream/unsubscribe"
	followLog   = "holon/logStream"
	unfollowLog = "holon/logStream/stop"
)

func boundToConnection(method string) bool {
	return method == subscribe || method == unsubscribe || method == followLog
}

// subscription is what the client is subscribed to, and how far it has come.
type subscription struct {
	params map[string]jsontext.Value // of stream/subscribe; nil = all events
	none   bool                      // after stream/unsubscribe
	begun  bool                      // the client knows where it begins: a stream/opened, an event or an answer was passed on
	known  bool                      // whether after is known
	after  int64                     // the last seq that was passed on; before there is any, where the log was
	logID  string
	logs   map[string]struct{} // the ids of the followed holon/logStream
}

// locate records where the log is before the first connection.
func (s *subscription) locate(latest *int64, logID string) {
	if latest != nil {
		s.known, s.after, s.logID = true, *latest, logID
	}
}

// begins returns what the URL of a further connection says, before the client knows where its
// stream begins. After that a request says it (resume).
func (s *subscription) begins() url.Values {
	if s.begun || !s.known {
		return nil
	}
	return url.Values{"after_seq": {s.logID + ":" + strconv.FormatInt(s.after, 10)}}
}

// begin records where a stream has begun. Of a server that does not report it, the first event
// does.
func (s *subscription) begin(after *int64, logID string) {
	s.begun, s.known = true, after != nil
	if s.known {
		s.after, s.logID = *after, logID
	}
}

// advance records that an event or a heartbeat was passed on.
func (s *subscription) advance(seq int64) {
	s.begun = true
	if !s.known || seq > s.after {
		s.known, s.after = true, seq
	}
}

// answered records that a request had a result.
func (s *subscription) answered(method string, params, result jsontext.Value) {
	var r struct {
		AfterSeq *int64 `json:"after_seq"`
		LogID    string `json:"log_id"`
		StreamID string `json:"stream_id"`
	}
	var p map[string]jsontext.Value
	_, _ = json.Unmarshal(result, &r, lenient), json.Unmarshal(params, &p, lenient) // the server has read it
	switch method {
	case subscribe:
		if p == nil {
			p = map[string]jsontext.Value{}
		}
		s.params, s.none = p, false
		s.begin(r.AfterSeq, r.LogID)
	case unsubscribe:
		s.begun, s.none = true, true
	case followLog:
		if string(p["follow"]) == "true" {
			if s.logs == nil {
				s.logs = map[string]struct{}{}
			}
			s.logs[r.StreamID] = struct{}{}
		}
	case unfollowLog:
		var id string
		_ = json.Unmarshal(p["stream_id"], &id, lenient) // ditto
		delete(s.logs, id)
	}
}

// resumable reports whether another connection can continue all that this one had. The
// lines of the server's log have no position that holds after a restart.
func (s *subscription) resumable() bool {
	return len(s.logs) == 0 && (s.known || s.none || s.params == nil)
}

// resume returns the request, with the id, that makes a new connection go on; nil before the
// first event or stream/opened.
func (s *subscription) resume(id string) []byte {
	switch {
	case !s.begun || !s.none && !s.known:
		return nil
	case s.none:
		return encodeRequest(id, unsubscribe, nil)
	}
	return s.goOn(id, s.params)
}

// goOn returns the request of a subscription after the last seq that was passed on.
func (s *subscription) goOn(id string, asked map[string]jsontext.Value) []byte {
	params := map[string]jsontext.Value{}
	maps.Copy(params, asked)
	delete(params, "consumer") // it is where the subscription has begun
	delete(params, "log_id")
	params["after_seq"] = strconv.AppendInt(nil, s.after, 10)
	if s.logID != "" {
		params["log_id"], _ = jsontext.AppendQuote(nil, s.logID) // ids of logs are text
	}
	return encodeRequest(id, subscribe, params)
}

func encodeRequest(id, method string, params map[string]jsontext.Value) []byte {
	line, err := json.Marshal(struct {
		JSONRPC string                    `json:"jsonrpc"`
		ID      jsontext.Value            `json:"id"`
		Method  string                    `json:"method"`
		Params  map[string]jsontext.Value `json:"params"`
	}{"2.0", jsontext.Value(id), method, params}, json.Deterministic(true), lenient)
	if err != nil { // all of it was read from JSON
		panic(err)
	}
	return line
}
