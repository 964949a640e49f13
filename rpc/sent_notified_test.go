package rpc

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// TestANotificationThatWouldWaitTellsThatNothingIsSent has a turn that never
// ends: a request would wait for the interrupt's final result.
func TestANotificationThatWouldWaitTellsThatNothingIsSent(t *testing.T) {
	r := newRig(t)
	r.engine.sent = make(chan string, 10)
	r.engine.stubborn = map[string]chan turns.InterruptResult{"turn_a": make(chan turns.InterruptResult)}
	note := strings.Replace(request("1", "turn/interrupt", `{"turn_id":"turn_a"}`), `"id":1,`, "", 1)
	st := r.open("POST", "/rpc/stream")
	st.expect(notify.StreamOpened)
	st.send(note)
	told(t, r, "turn_a false")
	st.send("[" + note + "]")
	told(t, r, "turn_a false")
	r.post(note)
	told(t, r, "turn_a false")
}

// TestANotificationThatWorksApartTellsThatNothingIsSent uses a method whose
// handler runs in Later.
func TestANotificationThatWorksApartTellsThatNothingIsSent(t *testing.T) {
	r := newRig(t)
	r.engine.sent = make(chan string, 10)
	note := strings.Replace(request("1", "thread/configure", `{"thread_id":"t","config":{"mode":"ask"}}`), `"id":1,`, "", 1)
	st := r.open("POST", "/rpc/stream")
	st.expect(notify.StreamOpened)
	st.send(note)
	told(t, r, "configure false")
}
