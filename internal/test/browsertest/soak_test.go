package browsertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// While agents talk, start steps and attempts again, fail and ask, the server is killed at
// random moments, and the page is loaded anew at some. What the page shows in the end is what the
// server has: 3 times, or CONSOLE_SOAK times.
func TestThePageIsExactAfterRandomKills(t *testing.T) {
	runs := 3
	if n, err := strconv.Atoi(os.Getenv("CONSOLE_SOAK")); err == nil {
		runs = n
	}
	needsBrowser(t)
	t.Parallel()
	for i := range runs {
		seed := uint64(i + 1)
		if n, err := strconv.ParseUint(os.Getenv("CONSOLE_SEED"), 10, 64); err == nil {
			seed += n
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			soak(t, rand.New(rand.NewPCG(seed, 7)), allForms[i%len(allForms)])
		})
	}
}

func soak(t *testing.T, r *rand.Rand, f form) {
	s := serve(t, "[agents.echo]\nkind = \"echo\"\non_crash = \"retry\"\nbackoff_seconds = 0.1\nmax_attempts = 10\n")
	thread := s.thread("echo", object{"title": "The one that is killed"})
	p := open(t, s, f, "#/thread/"+thread)
	p.complaints.expect(offline...)
	for range 4 {
		var turns []string
		for range 1 + r.IntN(3) {
			turns = append(turns, s.turn(thread, script(r), nil))
		}
		// The moment is one of the log, which the page has seen or not.
		at := s.seq() + r.Int64N(400)
		s.eventually("the log grows or the turns end", func() error {
			if s.seq() >= at || s.idle(turns) {
				return nil
			}
			return fmt.Errorf("seq %d of %d", s.seq(), at)
		})
		if r.IntN(2) == 0 {
			p.until(fmt.Sprintf("holon.cursor() >= %d", s.seq()-r.Int64N(50)))
		}
		s.kill()
		if r.IntN(3) == 0 {
			p.until("document.documentElement.dataset.stream === 'reconnecting'")
		}
		s.start()
		p.until("document.documentElement.dataset.stream === 'connected'")
		if r.IntN(4) == 0 {
			p.reload()
		}
		s.eventually("the turns end", func() error {
			if !s.idle(turns) {
				return fmt.Errorf("they have not")
			}
			return nil
		})
		if err := p.compare(); err != nil {
			t.Fatalf("the page and the server disagree: %v\n%s", err, p.describe())
		}
	}
}

func (s *server) idle(turns []string) bool {
	s.t.Helper()
	for _, id := range turns {
		switch s.call("turn/read", object{"turn_id": id})["turn"].(object)["state"] {
		case "queued", "active":
			return false
		}
	}
	return true
}

// script is a prompt that talks in many ways and ends by itself.
func script(r *rand.Rand) string {
	var lines []string
	for range 2 + r.IntN(6) {
		lines = append(lines, [...]string{
			"/deltas " + fmt.Sprint(10+r.IntN(300)) + " " + fmt.Sprint(1+r.IntN(40)),
			"/deltas " + fmt.Sprint(5+r.IntN(30)) + " 7 2",
			"/say äöü 🙂 " + fmt.Sprint(r.IntN(1000)),
			"/items " + fmt.Sprint(1+r.IntN(30)) + " 10",
			"/delete",
			"/step a\n/deltas 20 9\n/step a/b\n/say inner\n/step a\n/say again\n/end",
			"/transient " + fmt.Sprint(1+r.IntN(2)),
			"/crash 1",
			"/progress at work",
			"ünïcödé wörds that are echoed in pieces 🙂🙂",
		}[r.IntN(10)])
	}
	return strings.Join(lines, "\n")
}
