package conversation

import (
	"errors"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	wording "github.com/seed82539d15/holon/question"
	rules "github.com/seed82539d15/holon/turns"
)

func TestTheWordsOfAReviewKnowItsBound(t *testing.T) {
	if wording.Continuations != rules.MaxContinuations {
		t.Errorf("a person reads that %d turns continue a rejected one, the server allows %d", wording.Continuations, rules.MaxContinuations)
	}
}

// inReview ends a turn whose result waits for a review.
func (p *page) inReview(attempt int, message string) {
	p.t.Helper()
	turn := object{"turn_id": "t1", "thread_id": thread, "state": "completed", "attempt": attempt, "message": message, "updated_seq": p.seq + 1, "review": object{"policy": "always", "state": "pending"}}
	p.turns = []object{turn}
	p.event("turn/completed", object{"turn_id": "t1", "state": "completed", "attempt": attempt, "completed_at": p.now, "message": message, "review": turn["review"], "lineage": lineage(attempt)})
}

func (p *page) reviewed(verdict, by string) {
	p.t.Helper()
	p.turns = nil
	p.event("turn/reviewed", object{"turn_id": "t1", "state": "completed", "verdict": verdict, "note": "not good", "by": by, "attempt": 1, "lineage": lineage(1)})
}

func TestAReviewIsAnsweredOnThePageOfItsThread(t *testing.T) {
	for name, begin := range map[string]func(p *page){
		"its turn ends":      func(p *page) { p.open(); p.started("t1"); p.inReview(1, "All tests pass.") },
		"it waits already":   func(p *page) { p.seq = 9; p.inReview(1, "All tests pass."); p.open() },
		"after a connection": func(p *page) { p.open(); p.inReview(1, "All tests pass."); p.send(Reopened{}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPage(t, 80, 24)
			begin(p)
			p.keys("<esc>", "x")
			p.shows("Its result is blocked, as nobody has reviewed it.")
			p.keys("<esc>")
			p.did() // it stays open
			p.shows("a review  ")
			p.keys("a")
			p.later(deadFor)
			p.shows("A result waits for your review ─", "? review the result", "│ All tests pass.", "2 Reject with a note  [n]", "y approve", "? waits for you")
			p.keys("n", "not y", "<esc>")
			p.shows("3 Block")
			p.keys("2", "et", "<enter>")
			p.wants(screen.Review{Turn: "t1", Attempt: 1, Verdict: "rejected", Note: "not yet"})
			p.send(screen.Done{Action: screen.Review{Turn: "t1", Attempt: 1, Verdict: "rejected", Note: "not yet"}, Err: errors.New("no")})
			p.shows("» not yet", "The answer was not taken.")
			p.later(deadFor)
			p.keys("<esc>", "<enter>")
			p.wants(screen.Review{Turn: "t1", Attempt: 1, Verdict: "approved"})
			p.send(screen.Done{Action: screen.Review{Turn: "t1", Attempt: 1, Verdict: "approved"}})
			p.reviewed("approved", "client")
			p.hides("review", "waits for you")
		})
	}
}

func TestAReviewGoesWithTheAttempt(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.inReview(1, "Done.")
	p.keys("<esc>", "a")
	p.later(deadFor)
	p.keys("n", "x")
	p.event("turn/started", object{"turn_id": "t1", "attempt": 2, "started_at": p.now, "lineage": lineage(2)})
	p.shows("─ The review is over ─", "Its turn is tried again.", "» x")
	p.keys("<enter>")
	p.wants()
	p.inReview(2, "Done again.")
	p.keys("<enter>", "y", "<esc>", "a", "y", "<enter>", "3")
	p.wants() // it has just appeared
	p.later(deadFor)
	p.shows("│ Done again.")
	p.keys("y")
	p.wants(screen.Review{Turn: "t1", Attempt: 2, Verdict: "approved"})
}

func TestAReviewIsOverWhenSomebodyElseGivesIt(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.inReview(1, "Done.")
	p.keys("<esc>", "a")
	p.later(time.Second)
	p.keys("n", "no")
	p.reviewed("blocked", "token:phone")
	p.shows("⊘ blocked by its review: not good", "r tries it again")
	p.shows("Reviewed by token:phone: blocked.", "» no", "Esc leaves ─")
	p.keys("<esc>", "y")
	p.wants(screen.Copy{Text: thread})
	p.hides("a review", "your review")
}

// Approved is only what was on the screen.
func TestAnUnreadResultIsNotApproved(t *testing.T) {
	p := newPage(t, 80, 12).open()
	p.inReview(1, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm")
	p.keys("<esc>", "a")
	p.later(deadFor)
	p.keys("y")
	p.wants()
	p.shows("Not approved yet: … ", "holon review t1")
	p.keys("<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "y")
	p.wants(screen.Review{Turn: "t1", Attempt: 1, Verdict: "approved"})
}
