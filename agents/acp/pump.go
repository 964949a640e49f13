package acp

import (
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// quiet is how long nothing comes before text that was said outside of a
// prompt is taken to be whole.
const quiet = 500 * time.Millisecond

// pump is the session's goroutine.
func (s *session) pump() {
	defer close(s.stopped)
	defer s.cancel()
	flush := time.NewTimer(quiet)
	flush.Stop()
	defer flush.Stop()
	h := hands{s: s}
	for {
		batch, gone := s.next()
		if gone {
			h.drop()
			return
		}
		if batch == nil {
			select {
			case <-s.wake:
			case <-flush.C:
				if h.run == nil { // a prompt that has begun meanwhile has fetched it
					h.add(nil, s.m.Flush()...)
					h.over()
				}
			}
			continue
		}
		for i, ev := range batch {
			if s.handle(&h, ev) {
				return
			}
			if i%yieldEvery == yieldEvery-1 {
				runtime.Gosched()
			}
		}
		h.over()
		if h.run == nil {
			flush.Reset(quiet)
		}
	}
}

// next takes all that waits; nil = nothing does.
func (s *session) next() (batch []event, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, true
	}
	if s.held {
		return nil, s.ended // nobody has begun to use it
	}
	batch, s.queue = s.queue, nil
	if len(batch) == 0 {
		return nil, false
	}
	return batch, false
}

// handle does what one event says. It reports whether it was the last.
func (s *session) handle(h *hands, ev event) (last bool) {
	h.bytes += ev.size
	switch ev.kind {
	case evBegin:
		h.add(nil, s.m.Begin(ev.run.p.Index)...) // what was said before it
		h.run = ev.run
	case evUpdate:
		if h.run != nil {
			h.add(h.run, s.m.Update(ev.raw)...)
		} else {
			h.add(nil, s.m.Outside(ev.raw)...)
		}
		if h.run != nil && h.run.ends != nil {
			if result, over := h.run.ends(ev.raw); over {
				s.promptOver(h, result, nil, false)
			}
		}
	case evOther:
		h.add(h.run, extension(ev.method, ev.raw))
	case evNotice:
		h.add(h.run, notice("warning", ev.method, nil))
	case evRequest:
		s.ask(h, ev)
	case evResult:
		if h.run != nil && h.run == ev.run {
			s.promptOver(h, ev.raw, ev.err, ev.swept)
		}
	case evDo:
		h.over()
		ev.do()
	case evGone:
		if h.run != nil { // nothing more comes of its result
			end := promptEnd{err: errGone}
			if h.run.over.fired() {
				end = h.run.end
			}
			s.finish(h, end.result, end.err)
		}
		h.add(nil, s.m.Gone()...)
		h.over()
		return true
	}
	if h.bytes >= handBytes {
		h.over()
	}
	return false
}

// end says that the process is dead, after all that it has said.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.push(event{kind: evGone})
}

// promptOver ends a prompt that the agent has ended. One that was cancelled
// goes on until what it has left running has been ended, so that what the agent
// says of that belongs to it.
func (s *session) promptOver(h *hands, result jsontext.Value, err error, swept bool) {
	run := h.run
	if swept || !run.wasCancelled() {
		s.finish(h, result, err)
		return
	}
	if run.over.fired() {
		return // the agent has said it twice
	}
	h.over()
	run.end = promptEnd{result: result, err: err}
	run.answered.fire()
	run.over.fire()
}

// finish hands over what the end of a prompt ends and lets Run return.
func (s *session) finish(h *hands, result jsontext.Value, err error) {
	run := h.run
	if err != nil && !run.wasCancelled() {
		h.add(run, s.m.PromptFailed()...)
	} else {
		h.add(run, s.m.PromptEnded(result, run.wasCancelled())...)
	}
	h.over()
	h.run = nil
	s.mu.Lock()
	if s.run == run {
		s.run = nil
	}
	s.used = time.Now()
	s.mu.Unlock()
	run.done <- promptEnd{result: result, err: err}
}
