package conversation

import (
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// typing is a page on which a person types the answer to a question, while two others
// are open.
func typing(t *testing.T, w, h int) *page {
	p := newPage(t, w, h).open()
	p.started("t1")
	p.item("q1", "t1", "pending", object{"type": "question", "message": "Which way?"})
	p.item("q2", "t1", "pending", permission("Remove everything", nil))
	p.later(time.Second)
	p.keys("<esc>", "a", "fi")
	p.did()
	return p
}

// What a person types for a question is no command when the question goes away, and no
// answer to the next one.
func TestTypedLettersStayTextWhenTheQuestionGoes(t *testing.T) {
	answered := object{"type": "question", "message": "Which way?", "answer": "left", "resolved_by": "token:phone"}
	for why, goes := range map[string]func(p *page){
		"Answered by token:phone: \"left\".": func(p *page) { p.item("q1", "t1", "completed", answered) },
		"It was withdrawn.":                  func(p *page) { p.item("q1", "t1", "cancelled", object{"type": "question", "message": "Which way?"}) },
		"Its turn has ended.":                func(p *page) { p.ended("t1", "interrupted") },
		"It was answered or withdrawn meanwhile.": func(p *page) {
			p.send(screen.Connection{State: client.State{Kind: client.Lost}})
			p.send(screen.Connection{State: client.State{Kind: client.Resumed}})
		},
	} {
		t.Run(why, func(t *testing.T) {
			p := typing(t, 80, 24)
			goes(p)
			p.keys("x it quick")
			p.later(time.Second)
			p.keys("ly yes 1")
			p.wants()
			p.shows("─ The question is gone ─", "Esc leaves ─", why, "» fix it quickly yes 1")
			p.keys("<enter>")
			p.wants()
			p.shows("Nothing was sent. "+why+" Esc leaves.", "» fix it quickly yes 1")
			p.send(paste(" and more"))
			p.keys("!")
			p.shows("» fix it quickly yes 1 and more!")
			p.keys("<esc>")
			p.hides("» fix", "is gone")
			p.keys("xy")
			p.shows("is closed in 5 s")
		})
	}
}

// What is said of the answer is drawn as wide on all terminals, as is all text of others.
func TestAnAnswerWithJoinedEmojiIsDrawnWithoutJoiners(t *testing.T) {
	p := typing(t, 80, 24)
	p.item("q1", "t1", "completed", object{"type": "question", "message": "Which way?", "answer": "👩\u200d👧"})
	p.later(time.Second)
	p.shows(`Answered elsewhere: "👩".`)
}

// The next question waits until the person has left the one that is gone.
func TestTheNextQuestionWaitsForEsc(t *testing.T) {
	p := typing(t, 80, 24)
	p.item("q1", "t1", "completed", object{"type": "question", "message": "Which way?", "answer": "left"})
	p.shows(`Answered elsewhere: "left".`)
	p.later(time.Second)
	p.keys("y", "<esc>")
	p.shows("? Remove everything", "─ The agent asks ─")
	p.keys("a", "y") // too soon
	p.wants()
	p.later(deadFor)
	p.keys("y")
	p.wants(screen.Respond{Item: "q2", Option: "once"})
}

// An answer that came too late is still there to be read, and to be copied.
func TestAnAnswerThatWasNotTakenStays(t *testing.T) {
	for kind, want := range map[string]string{"already_resolved": "Somebody else has answered already.", "overloaded": "The answer was not taken."} {
		p := typing(t, 80, 24)
		p.keys("x", "<enter>")
		p.send(screen.Done{Action: screen.Respond{Item: "q1"}, Err: &client.Error{Kind: kind}})
		p.shows(want, "» fix")
		p.did()
		p.later(deadFor)
		p.keys("x")
		p.wants()
		p.shows("» fixx")
	}
}

func TestASmallWindowSaysThatTheQuestionIsGone(t *testing.T) {
	p := typing(t, 40, 10)
	p.keys(strings.Repeat("word ", 20))
	p.item("q1", "t1", "completed", object{"type": "question", "message": "Which way?", "answer": "left", "resolved_by": "token:phone"})
	p.shows("The question is gone", "Esc leaves ─", "Answered by token:phone: ", "word")
}

// An answer is pasted whole or not at all, and then the person is told.
func TestALongAnswerIsNotCut(t *testing.T) {
	p := typing(t, 80, 24)
	p.send(paste(strings.Repeat("x", MaxTyped)))
	p.shows("262 kB is too long to paste here (at most 262 kB).", "» fi")
	if p.m.answer.text != "fi" {
		t.Errorf("%d bytes are in the line", len(p.m.answer.text))
	}
	p.send(paste("x"))
	p.shows("» fix")
	p.hides("too long")
}
