package rpc

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
)

// What a read has answered is valid everywhere at once, also in the moment in which readers see
// a commit that is not published yet.
func TestSeqOfAReadIsValidEverywhereAtOnce(t *testing.T) {
	r, store := stored(t, 0)
	r.server.api.Inboxes = &fakeInboxes{fakeEngine: &fakeEngine{t: t}}
	m := persisttest.NewMaker(t, store, "full")
	m.Start().Commit()
	m.Create("", "item_a", items.StatusCompleted, items.NewNotice("info", "x"))
	advanced := make(chan string, 1)
	u := m.Unit()
	persisttest.AssignAtItem(t, u, func() {
		head := store.Tail().Head()
		_, answer := r.post(request("1", "item/list", `{"thread_id":"full"}`))
		latest := head + int64(len(u.Drafts))
		if !strings.Contains(answer, fmt.Sprintf(`"latest_seq":%d`, latest)) {
			t.Errorf("the read is not ahead of %d: %s", head, answer)
			return
		}
		for method, params := range map[string]string{
			"inbox/ack":  `{"thread_id":"full","all":true,"as_of_seq":%d}`,
			"event/list": `{"after_seq":%d}`,
		} {
			if _, answer := r.post(request("2", method, fmt.Sprintf(params, latest))); !strings.Contains(answer, `"result"`) {
				t.Errorf("%s: %s", method, answer)
			}
		}
		for _, path := range []string{"/rpc/stream?after_seq=%d", "/events?after_seq=%d"} {
			resp, err := r.client.Get(r.url + fmt.Sprintf(path, latest))
			if err != nil {
				t.Error(err)
				continue
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
		go func() { // it commits after this unit
			_, answer := r.post(request("3", "cursor/advance", fmt.Sprintf(`{"consumer_id":"laptop","stream_name":"events","last_sequence":%d}`, latest)))
			advanced <- answer
		}()
	})
	if _, err := store.Append(u); err != nil {
		t.Fatal(err)
	}
	if answer := <-advanced; !strings.Contains(answer, `"result"`) {
		t.Errorf("cursor/advance: %s", answer)
	}
}
