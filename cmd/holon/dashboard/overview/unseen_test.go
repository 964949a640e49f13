package overview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// What is not in the list has not happened: an inbox, a thread without a turn, and child threads
// that need nobody.
func TestOnlyWhatIsListedHasHappened(t *testing.T) {
	box, empty, child, review := quick("box", "idle", 1), quick("empty", "idle", 1), quick("child", "idle", 1), inReview()
	box.Agent, child.Level, empty.Summary.TurnID = mailbox, 1, ""
	m := loaded(append(five(), box, empty, child, review)...)
	got := text(m, noon, 100, 40)
	away, _, _ := strings.Cut(got, "\n\n")
	if strings.Contains(away, "box") || strings.Contains(away, "empty") || strings.Contains(away, "child") || !strings.Contains(away, "? Mend the build: waits for your review 9 min ago\n") {
		t.Errorf("what happened is\n%s", away)
	}
	m.Select(empty.ID)
	if got := text(m, noon, 100, 40); !strings.Contains(got, "· empty") || !strings.Contains(got, "\nNo turn yet: ") {
		t.Errorf("a thread without a turn is shown as\n%s", got)
	}
	m.Select(review.ID)
	if got := text(m, noon, 100, 40); !strings.Contains(got, "\nWaits for your review for 9 min: a shows what the agent said\n") {
		t.Errorf("a thread in review is shown as\n%s", got)
	}
}

// What happens while the dashboard is open is seen in the list.
func TestWhatHappensNowDidNotHappenMeanwhile(t *testing.T) {
	for _, status := range []string{statusWorking, statusClosed, "idle"} {
		m := loaded(five()...)
		before := text(m, noon, 100, 24)
		next := five()[2]
		next.LatestSeq++
		next.Summary.Status, next.Summary.Since = status, ago(5*time.Second)
		m.Update(noon, Listed{Threads: []Thread{next}})
		after, _, _ := strings.Cut(text(m, noon, 100, 24), "\n\n")
		if title := "joined emoji: "; !strings.Contains(before, title) || strings.Contains(after, title) {
			t.Errorf("a thread that is %s since:\n%s", status, after)
		}
	}
}

// What ended before the person's last dashboard did, and what was interrupted by hand, is no news.
func TestOnlyWhatHappenedSinceTheLastDashboardIsNews(t *testing.T) {
	load := func(left int64, reason string) *Model {
		threads := five()
		threads[3].LatestSeq, threads[3].Summary.Interrupted, threads[3].Summary.Reason = 90, true, reason
		m := New(screen.Styles{}, "")
		m.Update(noon, Listed{Threads: threads, Whole: true, Left: left})
		return m
	}
	id := five()[3].ID
	for _, c := range []struct {
		left   int64
		reason string
		want   bool
	}{{0, "server restarted", true}, {89, "server restarted", true}, {90, "server restarted", false}, {0, "Ctrl-C at holon run", false}, {0, "in the console", false}} {
		m := load(c.left, c.reason)
		if got := slices.Contains(m.away, id); got != c.want {
			t.Errorf("left at %d, %s: %v", c.left, c.reason, m.away)
		}
	}
	if got := Left(load(89, "")); got != (screen.Seen{Seq: 90}) {
		t.Errorf("it ends with %#v", got)
	}
	if got := Left(load(90, "")); got != nil {
		t.Errorf("without anything new it ends with %#v", got)
	}
}

// A list that is longer than the screen says how much is out of sight.
func TestAListSaysWhatIsOutOfSight(t *testing.T) {
	var threads []Thread
	for i := range 40 {
		threads = append(threads, quick(fmt.Sprint("t", i), "idle", time.Duration(i)*time.Minute))
	}
	m := loaded(threads...)
	if got := text(m, noon, 80, 24); !strings.Contains(got, "\n  ↓ 24 more\n") {
		t.Errorf("the list is\n%s", got)
	}
	press(m, noon, "G")
	if got := text(m, noon, 80, 24); !strings.Contains(got, "\n  ↑ 23 more\n") {
		t.Errorf("its end is\n%s", got)
	}
}
