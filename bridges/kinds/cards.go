package kinds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// editor is a target whose messages can be changed. An id is of one message.
type editor interface {
	// post shows a new message.
	post(card bridges.Card) (id string, r bridges.Result)
	// edit changes a message. lost says that it cannot be changed any more, and
	// left that it may still be seen then.
	edit(id string) (r bridges.Result, lost, left bool)
	// remove removes a message. done is also true if it is not there, or if it
	// can never be removed.
	remove(id string) (r bridges.Result, done bool)
}

// maxLeft bounds the messages of a card that are still to be removed.
const maxLeft = 4

// deliver shows a delivery in its cards. Whatever it returns, RemoteIDs say what
// the cards show now.
func deliver(a *attempt, e editor, o *bridges.Outgoing) bridges.Result {
	if len(o.Cards) == 0 {
		_, r := e.post(bridges.Card{})
		return r
	}
	var last bridges.Result
	ids := remoteIDs(o.Cards)
	for i, card := range o.Cards {
		if card.Remove {
			last.Error = cmp.Or(last.Error, removeAll(a, e, card, &ids[i]))
			continue
		}
		last, ids[i] = show1(e, card)
		if last.Outcome != bridges.Delivered {
			break
		}
	}
	last.RemoteIDs, last.Arrived = ids, last.Outcome != bridges.Delivered && (last.Arrived || a.arrived)
	return last
}

// removeAll removes the messages of a card. Those that cannot be removed now are left, and the
// error says so: the news itself has arrived.
func removeAll(a *attempt, e editor, card bridges.Card, remoteID *string) (problem string) {
	left := slices.DeleteFunc(strings.Fields(card.RemoteID), func(id string) bool {
		r, done := patiently(a, func() (bridges.Result, bool) { return e.remove(id) })
		if !done {
			problem = "the progress is still shown: " + r.Error
		}
		return done
	})
	*remoteID = strings.Join(left, " ")
	return problem
}

// patiently tries several times to remove something: nothing removes it later, and the news, which
// is posted, is not sent again for it.
func patiently(a *attempt, remove func() (r bridges.Result, done bool)) (r bridges.Result, done bool) {
	const tries, most = 4, 5 * time.Second
	wait := 250 * time.Millisecond
	for n := 1; ; n++ {
		if r, done = remove(); done || n == tries || r.Outcome == bridges.Refused || r.RetryAfter > most {
			return r, done
		}
		select {
		case <-time.After(max(wait, r.RetryAfter)):
			wait *= 2
		case <-a.ctx.Done():
			return r, false
		}
	}
}

// remoteIDs returns what cards show before an attempt.
func remoteIDs(cards []bridges.Card) (ids []string) {
	for _, card := range cards {
		ids = append(ids, card.RemoteID)
	}
	return ids
}

// show1 shows a delivery in one card, and removes what the card no longer shows.
func show1(e editor, card bridges.Card) (r bridges.Result, remoteID string) {
	shown, left := splitID(card.RemoteID)
	edited := false
	if shown != "" && !card.Post {
		var lost, still bool
		if r, lost, still = e.edit(shown); !lost {
			edited = true
			if r.Outcome != bridges.Delivered {
				return r, card.RemoteID
			}
		} else if !still {
			shown = ""
		}
	}
	if !edited {
		id, posted := e.post(card)
		if posted.Outcome != bridges.Delivered {
			return posted, card.RemoteID
		}
		if shown != "" && shown != id {
			left = append(left, shown)
		}
		r, shown = posted, id
	}
	// A message that cannot be removed now is remembered. It is no reason to send
	// the news again, which the person has.
	left = slices.DeleteFunc(left, func(id string) bool {
		removed, done := e.remove(id)
		if !done {
			r.Error = "the earlier message is still there: " + removed.Error
		}
		return done
	})
	return r, joinID(shown, left)
}

// splitID reads a remote id: the message that is shown, and those that are still to
// be removed.
func splitID(remoteID string) (shown string, left []string) {
	ids := strings.Fields(remoteID)
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], slices.Clone(ids[1:])
}

// joinID returns the inverse of splitID. Of too many messages the newest are kept.
func joinID(shown string, left []string) string {
	if n := len(left) - maxLeft; n > 0 {
		left = left[n:]
	}
	return strings.Join(append([]string{shown}, left...), " ")
}
