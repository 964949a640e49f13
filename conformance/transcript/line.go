package transcript

import (
	"bytes"
	"math"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// line is one line from the server, with the parts that the player uses.
type line struct {
	raw    []byte
	at     int // position on its connection
	batch  bool
	failed bool   // an error response
	id     string // the raw id; "" when there is none
	method string
	params map[string]any
	seq    int64 // of an event, or of the change that a response reports
}

// isReply reports whether the line answers something.
func (l *line) isReply() bool { return l.batch || l.method == "" }

// isEvent reports whether the line is an event of the log.
func (l *line) isEvent() bool {
	switch l.method {
	case "", "stream/opened", "stream/heartbeat", "stream/closing", "holon/log":
		return false
	}
	return l.seq > 0
}

func readLine(raw []byte) (*line, error) {
	l := &line{raw: raw}
	if bytes.HasPrefix(raw, []byte("[")) {
		l.batch = true
		return l, nil
	}
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  *struct {
			Data map[string]any `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	l.id, l.method, l.params, l.failed = string(m.ID), m.Method, m.Params, m.Error != nil
	if n, ok := m.Params["seq"].(float64); ok {
		l.seq = int64(n)
	}
	var result map[string]any
	if m.Result.Kind() == '{' && json.Unmarshal(m.Result, &result) == nil {
		if n, ok := result["seq"].(float64); ok && n == math.Trunc(n) {
			l.seq = int64(n)
		}
	}
	if m.Error != nil { // the only error of a stored change
		if n, ok := m.Error.Data["late_seq"].(float64); ok {
			l.seq = int64(n)
		}
	}
	return l, nil
}

// sentLine describes a line that the player sends.
type sentLine struct {
	answered bool   // whether an answer will come
	id       string // of the answer; "" for a batch, "null" for a bad frame
	method   string
	params   map[string]any
}

// integer is the form of a number that may be an id.
var integer = regexp.MustCompile(`^-?\d+$`)

// sending describes a line of the client: notifications and empty lines are not
// answered, everything else is.
func sending(text string) sentLine {
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 {
		return sentLine{}
	}
	if trimmed[0] == '[' && jsontext.Value(trimmed).IsValid() && string(trimmed) != "[]" {
		return sentLine{answered: true}
	}
	var id, params jsontext.Value
	var version, method string
	seen, twice := map[string]bool{}, false
	err := eachMember(trimmed, func(key string, v jsontext.Value) {
		twice = twice || seen[key]
		seen[key] = true
		switch key {
		case "id":
			id = v
		case "params":
			params = v
		case "jsonrpc":
			_ = json.Unmarshal(v, &version) // anything but a string leaves it empty
		case "method":
			_ = json.Unmarshal(v, &method)
		}
	})
	if err != nil || twice || len(seen) == 0 {
		return sentLine{answered: true, id: "null"}
	}
	req := sentLine{answered: true, id: string(id), method: method}
	_ = json.Unmarshal(params, &req.params) // params that are no object are ignored
	switch {
	case id == nil && version == "2.0" && method != "":
		req.answered = false
	case id == nil || id.Kind() != '"' && !integer.Match(id):
		req.id = "null"
	}
	return req
}
