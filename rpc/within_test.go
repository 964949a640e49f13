package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// family keeps a thread, as a child thread of parent unless that is "", and appends
// an event of it.
func (r *rig) family(id, parent string) {
	row := &threads.Thread{ThreadID: id}
	if parent != "" {
		row.Parent, row.Level = &threads.Parent{ThreadID: parent}, 1
	}
	r.memory.mu.Lock()
	r.memory.threads[id] = row
	r.memory.mu.Unlock()
	r.note(id)
}

func (r *rig) note(thread string) {
	r.memory.append(r.t, draft(notify.ThreadUpdated, thread, struct{}{}))
}

// The events of threads and of those below them come on every stream, from the tail
// and from the log, also of threads that start later.
func TestAStreamWithinThreadsHasThoseBelowThem(t *testing.T) {
	for name, tail := range map[string]int{"from the tail": 0, "from the log": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRigWith(t, newMemory(tail))
			r.family("root", "")
			r.family("other", "")
			r.family("child", "root")
			r.note("")
			r.family("grandchild", "child")
			r.note("other")
			r.note("root")
			subscribed := r.open("POST", "/rpc/stream?thread_id=nobody")
			subscribed.expect(notify.StreamOpened)
			subscribed.send(request("1", "stream/subscribe", `{"after_seq":0,"within_thread_ids":["child","nobody"],"thread_ids":["child","grandchild","later"]}`))
			subscribed.expect("#1")
			streams := map[*stream][]int64{subscribed: {3, 5, 9}}
			for query, want := range map[string][]int64{
				"within_thread_id=root":                                {1, 3, 5, 7, 9},
				"within_thread_id=child":                               {3, 5, 9},
				"within_thread_id=child&within_thread_id=other":        {2, 3, 5, 6, 9, 10},
				"within_thread_id=root&thread_id=other&thread_id=root": {1, 7},
				"within_thread_id=later":                               {9},
				"within_thread_id=root&method=turn/*":                  nil,
			} {
				st := r.open("GET", "/rpc/stream?after_seq=0&"+query)
				st.expect(notify.StreamOpened)
				streams[st] = want
			}
			r.note("")
			r.family("later", "grandchild")
			r.note("other")
			if err := r.server.Close(t.Context(), Closing{Code: api.CloseStopping}); err != nil {
				t.Fatal(err)
			}
			for st, want := range streams {
				var got []int64
				for {
					m := st.message()
					if m.Method == notify.StreamClosing {
						break
					}
					if m.Method != notify.StreamHeartbeat {
						got = append(got, m.Params.Seq)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v, want %v", st.resp.Request.URL, got, want)
				}
			}
		})
	}
}

func TestABadFilterOfThreadsBelowIsRefused(t *testing.T) {
	r := newRig(t)
	many := strings.Repeat("&within_thread_id=t", 101)
	for _, c := range []struct{ query, field, reason string }{
		{"within_thread_id=", "within_thread_id[0]", "malformed"},
		{"within_thread_id=t&within_thread_id=" + strings.Repeat("x", 129), "within_thread_id[1]", "malformed"},
		{many[1:], "within_thread_id", "too_many"},
		{"within_thread_ids=t", "within_thread_ids", "unknown_field"},
	} {
		for _, path := range []string{"/rpc/stream?", "/events?"} {
			resp, err := r.client.Get(r.url + path + c.query)
			if err != nil {
				t.Fatal(err)
			}
			var m message
			err = json.NewDecoder(resp.Body).Decode(&m)
			resp.Body.Close()
			if err != nil || m.Error == nil {
				t.Errorf("%s%.60s: %d, %v", path, c.query, resp.StatusCode, err)
				continue
			}
			if got := fmt.Sprint(resp.StatusCode, m.Error.Data.Kind, m.Error.Data.Field, m.Error.Data.Reason); got != fmt.Sprint(400, api.KindInvalidParams, c.field, c.reason) {
				t.Errorf("%s%.60s: %s", path, c.query, got)
			}
		}
	}
}
