package acp

import (
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// quiet is how long the agent must be silent until text outside of a prompt
// counts as complete.
const quiet = 500 * time.Millisecond

// pump runs the session's goroutine.
func (s *session) pump() {
	defer close(s.stopped)
	defer s.cancel()
	flush := time.NewTimer(quiet)
	flush.Stop()
	defer flush.Stop()
	buf := opBuffer{s: s}
	for {
		batch, gone := s.next()
		if gone {
			buf.drop()
			return
		}
		if batch == nil {
			select {
			case <-s.wake:
			case <-flush.C:
				if buf.run == nil { // a prompt that has begun meanwhile has flushed it
					buf.add(nil, s.m.Flush()...)
					buf.flush()
				}
			}
			continue
		}
		for i, ev := range batch {
			if s.handle(&buf, ev) {
				return
			}
			if i%yieldEvery == yieldEvery-1 {
				runtime.Gosched()
			}
		}
		buf.flush()
		if buf.run == nil {
			flush.Reset(quiet)
		}
	}
}

// next takes all waiting events; nil = there are none.
func (s *session) next() (batch []event, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil, true
	}
	if s.held {
		return nil, s.ended // it has not been used yet
	}
	batch, s.queue = s.queue, nil
	if len(batch) == 0 {
		return nil, false
	}
	return batch, false
}

// handle handles one event. It reports whether it was the last.
func (s *session) handle(buf *opBuffer, ev event) (last bool) {
	buf.bytes += ev.size
	switch ev.kind {
	case evBegin:
		buf.add(nil, s.m.Begin(ev.run.p.Index)...) // said before the prompt
		buf.run = ev.run
	case evUpdate:
		if buf.run != nil {
			buf.add(buf.run, s.m.Update(ev.raw)...)
		} else {
			buf.add(nil, s.m.Outside(ev.raw)...)
		}
		if buf.run != nil && buf.run.ends != nil {
			if result, over := buf.run.ends(ev.raw); over {
				s.promptOver(buf, result, nil, false)
			}
		}
	case evOther:
		buf.add(buf.run, extension(ev.method, ev.raw))
	case evNotice:
		buf.add(buf.run, notice("warning", ev.method, nil))
	case evDropped:
		if buf.run != nil {
			buf.add(buf.run, s.drops.add(buf.run.p.TurnID, ev.method)...)
		}
	case evRequest:
		s.ask(buf, ev)
	case evResult:
		if buf.run != nil && buf.run == ev.run {
			s.promptOver(buf, ev.raw, ev.err, ev.swept)
		}
	case evDo:
		buf.flush()
		ev.do()
	case evGone:
		if buf.run != nil { // its result does not come any more
			end := promptEnd{err: errGone}
			if buf.run.over.fired() {
				end = buf.run.end
			}
			s.finish(buf, end.result, end.err)
		}
		buf.add(nil, s.m.Gone()...)
		buf.flush()
		return true
	}
	if buf.bytes >= flushBytes {
		buf.flush()
	}
	return false
}

// end queues that the process is dead, after all its messages. Its tools end at
// once.
func (s *session) end() {
	s.own.revoke()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.push(event{kind: evGone})
}

// promptOver ends a prompt that the agent has ended. A cancelled one stays open
// until the processes it has left running are ended, so that the agent's
// messages about them belong to it.
func (s *session) promptOver(buf *opBuffer, result jsontext.Value, err error, swept bool) {
	run := buf.run
	if swept || !run.wasCancelled() {
		s.finish(buf, result, err)
		return
	}
	if run.over.fired() {
		return // the agent has ended it twice
	}
	buf.flush()
	run.end = promptEnd{result: result, err: err}
	run.answered.fire()
	run.over.fire()
}

// finish emits the ends of the prompt's items and lets Run return.
func (s *session) finish(buf *opBuffer, result jsontext.Value, err error) {
	run := buf.run
	if err != nil && !run.wasCancelled() {
		buf.add(run, s.m.PromptFailed(result)...)
	} else {
		buf.add(run, s.m.PromptEnded(result, run.wasCancelled())...)
	}
	buf.add(run, s.drops.rest()...)
	buf.flush()
	buf.run = nil
	s.mu.Lock()
	if s.run == run {
		s.run = nil
	}
	s.used = time.Now()
	s.mu.Unlock()
	run.done <- promptEnd{result: result, err: err}
}
