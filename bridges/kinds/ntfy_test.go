package kinds_test

import (
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/bridges/kinds"
	"github.com/seed82539d15/holon/internal/test/kindstest"
	"github.com/seed82539d15/holon/turns"
)

func ntfy(t *testing.T) (*kindstest.Ntfy, bridges.Channel) {
	n := kindstest.NewNtfy(t)
	return n, open(t, kinds.Config{Kind: bridges.KindNtfy, Server: n.URL + "/", Topic: testTopic})
}

// envelope is one of a type.
func envelope(eventType bridges.EventType, title string) *bridges.Envelope {
	e := kindstest.Final()
	e.EventType, e.Data.Title = eventType, title
	return e
}

func TestLaterNotificationOfACardReplacesTheEarlierOne(t *testing.T) {
	n, ch := ntfy(t)
	question := bridges.Card{Key: "question-1", Post: true}
	r := must(t, send(t, ch, outgoing(envelope(bridges.TypeQuestion, "May I?"), bridges.Target{}, question)), bridges.Delivered)
	must(t, send(t, ch, outgoing(envelope(bridges.TypeFinal, "Another turn"), bridges.Target{}, bridges.Card{Key: "end", Post: true})), bridges.Delivered)
	answer := bridges.Card{Key: "question-1", RemoteID: r.RemoteIDs[0]}
	must(t, send(t, ch, outgoing(envelope(bridges.TypeAnswer, "It was answered"), bridges.Target{}, answer)), bridges.Delivered)
	all := n.Notifications()
	if len(all) != 2 || all[1].Title != "Answered: It was answered" || all[1].SequenceID != "question-1" {
		t.Errorf("%+v", all)
	}
	// A test, and an event that was chosen by its method, have no card.
	must(t, send(t, ch, outgoing(envelope(bridges.TypeTest, "Test"), bridges.Target{})), bridges.Delivered)
	must(t, send(t, ch, outgoing(envelope(bridges.TypeTest, "Test"), bridges.Target{})), bridges.Delivered)
	if all := n.Notifications(); len(all) != 4 || all[3].SequenceID != "" {
		t.Errorf("%+v", all)
	}
}

func TestSeveralCardsAreEachReplaced(t *testing.T) {
	n, ch := ntfy(t)
	cards := []bridges.Card{{Key: "progress", RemoteID: "progress"}, {Key: "end", RemoteID: "end"}}
	for _, s := range cards {
		must(t, send(t, ch, outgoing(envelope(bridges.TypeProgress, "Begun"), bridges.Target{}, s)), bridges.Delivered)
	}
	o := outgoing(envelope(bridges.TypeSuperseded, "Tried again"), bridges.Target{}, cards...)
	if got := must(t, send(t, ch, o), bridges.Delivered); len(got.RemoteIDs) != 2 || got.RemoteIDs[0] != "progress" || got.RemoteIDs[1] != "end" {
		t.Errorf("%v", got.RemoteIDs)
	}
	for _, s := range n.Notifications() {
		if s.Title != "No longer true: Tried again" {
			t.Errorf("%+v", s)
		}
	}
}

// The keys of cards are others after a restore.
func TestNotificationFromBeforeARestoreIsReplaced(t *testing.T) {
	n, ch := ntfy(t)
	r := must(t, send(t, ch, outgoing(envelope(bridges.TypeFinal, "Failed"), bridges.Target{}, bridges.Card{Key: "before", Post: true})), bridges.Delivered)
	for _, post := range []bool{false, true} {
		card := bridges.Card{Key: "after", RemoteID: r.RemoteIDs[0], Post: post}
		r = must(t, send(t, ch, outgoing(envelope(bridges.TypeFinal, "Later"), bridges.Target{}, card)), bridges.Delivered)
		if all := n.Notifications(); len(all) != 1 || all[0].Title != "Completed: Later" {
			t.Errorf("post %v: %+v", post, all)
		}
	}
}

func TestOnlyNewsRings(t *testing.T) {
	n, ch := ntfy(t)
	failed := envelope(bridges.TypeFinal, "Failed")
	failed.Data.State = turns.Failed
	for i, c := range []struct {
		e    *bridges.Envelope
		post bool
		want int
	}{
		{envelope(bridges.TypeQuestion, "q"), true, 4}, {failed, true, 4}, {envelope(bridges.TypeFinal, "f"), true, 3}, {envelope(bridges.TypeInbox, "i"), true, 3},
		{envelope(bridges.TypeProgress, "p"), false, 2}, {envelope(bridges.TypeAnswer, "a"), false, 2}, {envelope(bridges.TypeSuperseded, "s"), false, 2},
		{envelope(bridges.TypeQuestion, "q"), false, 2},
	} {
		must(t, send(t, ch, outgoing(c.e, bridges.Target{Topic: "another_topic"}, bridges.Card{Key: "k", Post: c.post})), bridges.Delivered)
		if got := n.Published()[i]; got.Priority != c.want || got.Topic != "another_topic" || len(got.Tags) != 1 || got.Tags[0] == "" {
			t.Errorf("%s, post %v: %+v, want priority %d", c.e.EventType, c.post, got, c.want)
		}
	}
}

// A server older than 2.16 knows no sequence ids: the later notification says what
// has become of the earlier one.
func TestOldNtfyShowsBoth(t *testing.T) {
	n, ch := ntfy(t)
	n.Old = true
	card := bridges.Card{Key: "question-1", Post: true}
	must(t, send(t, ch, outgoing(envelope(bridges.TypeQuestion, "May I?"), bridges.Target{}, card)), bridges.Delivered)
	card.Post = false
	must(t, send(t, ch, outgoing(envelope(bridges.TypeAnswer, "May I?"), bridges.Target{}, card)), bridges.Delivered)
	if all := n.Notifications(); len(all) != 2 || all[1].Title != "Answered: May I?" {
		t.Errorf("%+v", all)
	}
}
