package main

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

func TestDeliveriesAreListedShownAndSentAgain(t *testing.T) {
	s, _, receiver := startNotifying(t)
	if r := s.holon("deliveries"); r.code != exitOK || r.out != "" || !strings.Contains(r.err, "no such deliveries") {
		t.Errorf("none: %+v", r)
	}
	s.want("notify", "--all", "--bridge=hook")
	receiver.Fail(kindstest.Refuses)
	s.want("run", "--thread=a", "/say one")
	eventually(t, "it is delivered after a refusal", func() bool { return len(receiver.IDs()) == 1 })
	var id string
	eventually(t, "it is settled", func() bool {
		id = notifiedSeq.FindString(s.want("deliveries", "--state=delivered"))
		return id != ""
	})
	shown := s.want("delivery", id)
	contains(t, shown, "delivery     "+id+"\n", "news         final (turn/completed, event ", "thread       a\n", "state        delivered\n", "refused after ", ": status 400\n    answer: it does not work\n", "delivered after ")
	contains(t, s.want("redeliver", id), id+": will be sent\n")
	eventually(t, "it is sent again under its id", func() bool { return len(receiver.Requests()) == 3 && len(receiver.IDs()) == 1 })
	for _, args := range [][]string{{"delivery", "notif:x:1"}, {"redeliver", "notif:x:1"}} {
		if r := s.holon(args...); r.code != exitFailed || !strings.Contains(r.err, "holon deliveries lists them") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if out := s.want("deliveries", "--dead"); out != "" {
		t.Errorf("dead:\n%s", out)
	}
	for _, format := range []string{"json", "jsonl", "toon"} {
		for _, args := range [][]string{{"deliveries"}, {"delivery", id}, {"notify", "list"}, {"notify", "show", "hook-all"}, {"bridge", "list"}, {"bridge", "show", "hook"}} {
			out := s.want(append(args, "-o="+format)...)
			if format == "json" {
				oneObject(t, out)
			}
			if !strings.Contains(out, "hook") {
				t.Errorf("%v -o %s:\n%s", args, format, out)
			}
		}
	}
}
