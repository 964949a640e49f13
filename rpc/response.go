package rpc

// echoedID is the longest id that the error for an answer that did not fit
// still carries: the answer must fit with it.
const echoedID = 1024

// responseLine is the line that answers a request. No line is longer than a
// frame may be: what does not fit becomes frame_too_large.
func (s *Server) responseLine(id []byte, r reply) []byte {
	if r.err != nil {
		s.metrics.Error(string(r.err.Data.Kind))
		if line := appendError(nil, id, r.err); len(line) <= s.limits.MaxFrameBytes {
			return line
		}
		return s.tooLarge(id)
	}
	line := make([]byte, 0, len(r.result)+len(id)+32)
	line = appendHead(line, id)
	line = append(line, `,"result":`...)
	line = append(line, r.result...)
	line = append(line, "}\n"...)
	if len(line)-1 > s.limits.MaxFrameBytes {
		return s.tooLarge(id)
	}
	return line
}

// tooLarge stands in for an answer that does not fit a frame.
func (s *Server) tooLarge(id []byte) []byte {
	if len(id) > echoedID {
		id = nil
	}
	e := Errorf(KindFrameTooLarge, "the answer is larger than a frame may be; what the request changed stands")
	s.metrics.Error(string(e.Data.Kind))
	return appendError(nil, id, e)
}
