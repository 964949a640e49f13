package main

import (
	"strings"
	"testing"
)

func TestATurnIsReviewed(t *testing.T) {
	s := startServer(t)
	if r := s.holon("review"); r.code != exitOK || r.out != "" || r.err != "No turn waits for a verdict.\n" {
		t.Errorf("nothing waits: exit %d: %s%s", r.code, r.out, r.err)
	}
	out := s.want("run", "--thread=r", "--review=on_success", "/say the first try")
	if !strings.Contains(out, "waits for a review: holon review ") {
		t.Errorf("run:\n%s", out)
	}
	id := strings.Fields(s.want("review", "--long"))[6]
	if out := s.want("review"); !strings.Contains(out, "the first try") || !strings.HasPrefix(id, "turn_") {
		t.Fatalf("review:\n%s", out)
	}
	if r := s.holon("review", id); r.code != exitOK || !strings.Contains(r.out, "the first try") || !strings.Contains(r.out, "waits for a verdict until") || !strings.Contains(r.err, "holon review "+short(id)+" --approve") {
		t.Errorf("review TURN: %s%s", r.out, r.err)
	}
	r := s.holon("review", id, "--reject", "/say the second try", "--idempotency-key=k")
	if r.code != exitOK || !strings.Contains(r.out, "rejected, continued by ") || !strings.Contains(r.err, "holon attach r --after") {
		t.Fatalf("reject: exit %d: %s%s", r.code, r.out, r.err)
	}
	next := strings.Fields(r.out)[4]
	if again := s.holon("review", id, "--reject", "/say the second try", "--idempotency-key=k"); again.out != r.out {
		t.Errorf("again with the key: %s%s", again.out, again.err)
	}
	eventually(t, "the second try is in review", func() bool { return strings.Contains(s.want("turns", "--in-review", "--long"), next) })
	if r := s.holon("await", "--timeout=0", id); !strings.Contains(r.out, "continued by "+next+": waits for a review: holon review "+next) || r.code != exitFailed {
		t.Errorf("await: exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := s.holon("review", id, "--approve"); r.code != exitFailed || !strings.Contains(r.err, "holon review TURN shows the verdict") {
		t.Errorf("a second verdict: exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := s.holon("review", next, "--approve", "--attempt=2"); r.code != exitFailed || !strings.Contains(r.err, "tried again meanwhile") {
		t.Errorf("another attempt: exit %d: %s%s", r.code, r.out, r.err)
	}
	if out := s.want("review", next, "--approve", "--note=well done"); out != next+": approved\n" {
		t.Errorf("approve: %s", out)
	}
	if out := s.want("await", id); !strings.Contains(out, "approved in a review: well done\n  the second try") {
		t.Errorf("await:\n%s", out)
	}
	if out := s.want("turns"); !strings.Contains(out, "completed, rejected") || !strings.Contains(out, "completed, approved") {
		t.Errorf("turns:\n%s", out)
	}
	if out := s.want("tree"); strings.Contains(out, "in review") {
		t.Errorf("tree:\n%s", out)
	}
}

func TestRunSaysThatTheEndWaits(t *testing.T) {
	s := startServer(t)
	r := s.holon("run", "-q", "--review=always", "/fail oh no")
	if r.code != exitFailed || !strings.Contains(r.err, "waits for a review: holon review ") {
		t.Errorf("quiet: exit %d: %s%s", r.code, r.out, r.err)
	}
	object := oneObject(t, s.want("run", "-o", "json", "--review=always", "/say x"))
	if review, _ := object["review"].(map[string]any); object["state"] != "completed" || review["state"] != "pending" {
		t.Errorf("json: %v", object)
	}
	id := object["turn_id"].(string)
	if out := s.want("review", id, "--block"); out != short(id)+": blocked\n" {
		t.Errorf("block: %s", out)
	}
	if r := s.holon("await", id); r.code != exitFailed {
		t.Errorf("what is blocked is no success: %s", r.out)
	}
	object = oneObject(t, s.want("run", "-o", "json", "--review=always", "/say x"))
	id = object["turn_id"].(string)
	if out := s.want("review", id, "--reject", "", "--final"); out != short(id)+": rejected\n" {
		t.Errorf("final: %s", out)
	}
	if _, page := s.fetch("/metrics"); !strings.Contains(page, `holon_reviews_total{state="blocked"} 1`+"\n") || !strings.Contains(page, `holon_reviews_total{state="pending"} 3`+"\n") {
		t.Error("the metrics do not count reviews")
	}
}

func TestReviewRefusesWrongFlags(t *testing.T) {
	s := startServer(t)
	for _, args := range [][]string{
		{"--approve"}, {"turn_x", "--approve", "--block"}, {"turn_x", "--reject", " "}, {"turn_x", "--reject", "a", "--note", "b"},
		{"turn_x", "--note", "b"}, {"turn_x", "--approve", "--final"},
	} {
		if r := s.holon(append([]string{"review"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
	if r := s.holon("run", "--review=sometimes", "x"); r.code != exitUsage {
		t.Errorf("run: exit %d: %s", r.code, r.err)
	}
}
