//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// Retention waits for a subscription that is paused, up to max_lane_lag_days. Then the
// log says what was lost, and the subscription goes on with what is left.
func TestWhatRetentionTakesFromAPausedSubscriptionIsSaid(t *testing.T) {
	t.Parallel()
	target := kindstest.NewReceiver(t, sendSecret)
	p := newTestbed(t)
	config := fmt.Sprintf("[bridges.hook]\nkind = \"webhook\"\nurl = %q\nallow_private = true\nsecret = %q\n", target.URL+"/hook", sendSecret)
	p.configure(t, config)
	s := p.serve(t, nil)
	s.must(t, "subscription/create", object{"subscription_id": "s", "bridge_id": "hook", "include_text": true})
	s.must(t, "subscription/pause", object{"subscription_id": "s"})
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "turn/start", turn("a", "/say early"))
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	early, ended := s.latest(t), time.Now()
	prune := func() int64 {
		var pruned struct {
			FirstSeq int64 `json:"first_seq"`
		}
		s.must(t, "holon/prune", object{"before_seq": early + 1}).decode(t, &pruned)
		return pruned.FirstSeq
	}
	if first := prune(); first > early {
		t.Fatalf("the log begins at %d: retention has not waited for the subscription", first)
	}
	s.stop(t)

	// As if max_lane_lag_days had passed. The real program has the real clock.
	eventually(t, "the end is older than the new bound", func() bool { return time.Since(ended) > 2*time.Second })
	p.configure(t, "max_lane_lag_days = 0.00002\n"+config)
	s = p.serve(t, nil)
	eventually(t, "retention waits no longer", func() bool { return prune() == early+1 })
	s.must(t, "turn/start", turn("a", "/say late"))
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	s.must(t, "subscription/resume", object{"subscription_id": "s"})
	if err := s.delivered("s"); err != nil {
		t.Fatal(err)
	}
	var lost []string
	st, err := s.open(early)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	for latest := s.latest(t); ; {
		line, err := st.next()
		if err != nil {
			t.Fatal(err)
		}
		if methodOf(line) == "delivery/lost" {
			lost = append(lost, line)
		}
		if seqOf(line) == latest {
			break
		}
	}
	if len(lost) != 1 {
		t.Fatalf("%d events delivery/lost: %s", len(lost), lost)
	}
	var event struct {
		Params struct {
			SubscriptionID string `json:"subscription_id"`
			BridgeID       string `json:"bridge_id"`
			FromSeq        int64  `json:"from_seq"`
			ToSeq          int64  `json:"to_seq"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(lost[0]), &event); err != nil {
		t.Fatal(err)
	}
	if e := event.Params; e.SubscriptionID != "s" || e.BridgeID != "hook" || e.FromSeq < 1 || e.FromSeq > early || e.ToSeq != early {
		t.Errorf("lost up to %d: %s", early, lost[0])
	}
	bodies := target.Shown()
	if len(bodies) != 1 || !strings.Contains(bodies[0], `"text":"late"`) {
		t.Errorf("after what was lost: %s", bodies)
	}
	s.stop(t)
	p.doctor(t)
}
