package rpc

import (
	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
)

// echoedID is the longest id that the error frame_too_large repeats: the error
// must fit a frame with it.
const echoedID = 1024

// responseLine returns the line that answers a request. An answer that does not fit
// a frame becomes frame_too_large.
//
// If the line does not have the reply's result, responseLine calls r.Sent with
// false and sets it to nil.
func (s *Server) responseLine(id []byte, r *api.Reply) []byte {
	line, whole := s.lineOf(id, r)
	if !whole {
		callSent(r.Sent, false)
		r.Sent = nil
	}
	return line
}

// lineOf works like responseLine, and also reports whether the line has the whole
// result.
func (s *Server) lineOf(id []byte, r *api.Reply) (line []byte, whole bool) {
	if r.Err != nil {
		s.metrics.Error(string(r.Err.Data.Kind))
		if line := appendError(nil, id, r.Err); len(line) <= s.limits.MaxFrameBytes {
			return line, false
		}
		return s.tooLarge(id), false
	}
	line = make([]byte, 0, len(r.Result)+len(id)+32)
	line = appendHead(line, id)
	line = append(line, `,"result":`...)
	line = append(line, r.Result...)
	line = append(line, "}\n"...)
	if len(line)-1 > s.limits.MaxFrameBytes {
		return s.tooLarge(id), false
	}
	return line, true
}

// tooLarge replaces an answer that does not fit a frame.
func (s *Server) tooLarge(id []byte) []byte {
	if len(id) > echoedID {
		id = nil
	}
	e := api.Errorf(api.KindFrameTooLarge, "the response is larger than a frame may be; the changes that the request made are kept")
	s.metrics.Error(string(e.Data.Kind))
	return appendError(nil, id, e)
}

// appendError appends the response line that carries the error.
func appendError(b, id []byte, e *api.Error) []byte {
	b = appendHead(b, id)
	b = append(b, `,"error":`...)
	body, err := json.Marshal(e, api.WireOptions)
	if err != nil {
		// Strings and numbers always encode. If that changes, the client still
		// gets an answer.
		body = []byte(`{"code":-32603,"message":"the error could not be encoded","data":{"kind":"internal","retryable":false}}`)
	}
	b = append(b, body...)
	return append(b, "}\n"...)
}

// appendHead appends the beginning of a response.
func appendHead(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}
