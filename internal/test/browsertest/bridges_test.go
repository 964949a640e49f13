package browsertest

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"github.com/seed82539d15/holon/internal/test/kindstest"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw9QZ0aGVyZQ=="

// world is a server with a bridge for each way in which sending can go.
type world struct {
	*server
	hook  *kindstest.Receiver
	slack *kindstest.Slack
}

func newWorld(t *testing.T, config string) *world {
	t.Helper()
	w := &world{hook: kindstest.NewReceiver(t, hookSecret), slack: kindstest.NewSlack(t, "xoxb-test-token")}
	broken := kindstest.Listen(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }))

	for name, url := range map[string]string{"hook": w.hook.URL, "broken": broken.URL, "flood": w.hook.URL} {
		config += fmt.Sprintf("[bridges.%s]\nkind = \"webhook\"\nurl = %q\nallow_private = true\nsecret = %q\n", name, url+"/"+name, hookSecret)
	}
	config += fmt.Sprintf("[bridges.slack]\nkind = \"slack\"\napi_url = %q\nallow_private = true\ntoken = \"xoxb-test-token\"\n", w.slack.APIURL())
	w.server = serve(t, config)
	return w
}

// all makes a subscription in every state that one can be in.
func (w *world) all() {
	w.t.Helper()
	thread := w.thread("echo", object{"title": "The one with news"})
	quiet := w.thread("echo", object{"title": "The quiet one"})
	w.call("bridge/pause", object{"bridge_id": "flood"})
	w.slack.Break("C0GENERAL", "is_archived")
	for id, more := range map[string]object{
		"zero":     {"bridge_id": "hook", "thread_id": quiet},
		"steady":   {"bridge_id": "hook", "thread_id": thread},
		"failing":  {"bridge_id": "broken", "thread_id": thread},
		"backlog":  {"bridge_id": "flood", "thread_id": thread, "methods": []string{"item/created"}},
		"disabled": {"bridge_id": "slack", "thread_id": thread, "target": object{"channel": "C0GENERAL"}},
		"deleted":  {"bridge_id": "hook", "thread_id": thread, "on": []string{"final", "questions"}},
	} {
		params := object{"subscription_id": id}
		for k, v := range more {
			params[k] = v
		}
		w.call("subscription/create", params)
	}
	w.ended(thread, "/say news")
	w.settled("deleted", "steady")
	w.call("subscription/delete", object{"subscription_id": "deleted", "reason": "not needed now"})
	w.ended(thread, "/items 1100 1")
	w.settled("backlog", "held") // not in the first minute of the server that is started below

	// The rows of a turn disagree with its events only if the store is damaged.
	w.kill()
	db, err := sql.Open("sqlite3", w.path("data/holon.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE turns SET state = 'failed' WHERE created_seq = (SELECT min(created_seq) FROM turns)`); err != nil {
		w.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	w.call("subscription/create", object{"subscription_id": "mismatch", "bridge_id": "hook", "thread_id": thread, "from": "beginning"})
	w.settled("mismatch", "held")
	w.settled("disabled", "disabled")
	w.settled("failing", "failing")
}

// settled waits until a subscription is in a state, as people say it.
func (w *world) settled(id, state string) {
	w.t.Helper()
	w.eventually(id+" is "+state, func() error {
		s := w.call("subscription/read", object{"subscription_id": id})["subscription"].(object)
		cursor, _ := s["cursor"].(object)
		is := s["state"]
		switch {
		case id == "mismatch" && len(w.call("delivery/list", object{"subscription_id": id, "state": "mismatch"})["deliveries"].([]any)) > 0:
			is = "held"
		case is == "active" && cursor["last_error"] != nil:
			is = "failing"
		case is == "active" && cursor["last_delivery_id"] != nil && s["pending"] == 0.0:
			is = "steady"
		}
		if is != state {
			return fmt.Errorf("it is %v: %v", is, s)
		}
		return nil
	})
}

// cursor is the cursor of a subscription.
func (w *world) cursor(id string) object {
	w.t.Helper()
	return w.call("subscription/read", object{"subscription_id": id})["subscription"].(object)["cursor"].(object)
}

// goesOn waits until a subscription has delivered what came behind a seq, and nothing twice.
func (w *world) goesOn(id string, kept float64) {
	w.t.Helper()
	w.eventually(id+" goes on", func() error {
		if at := w.cursor(id)["last_sequence"].(float64); at <= kept {
			return fmt.Errorf("its cursor is at %.0f", at)
		}
		return nil
	})
	seen := map[any]bool{}
	for _, d := range w.call("delivery/list", object{"subscription_id": id})["deliveries"].([]any) {
		seq := d.(object)["seq"]
		if seen[seq] {
			w.t.Errorf("%s has sent seq %v again", id, seq)
		}
		seen[seq] = true
	}
}

// Each subscription says what it is: zero, steady, failing, held for either reason,
// disabled, deleted but resumable.
func TestBridgesInEveryState(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		w := newWorld(t, "")
		w.all()
		p := open(t, w.server, f, "#/bridges")
		card := func(id string) string { return "li[data-subscription=" + id + "]" }
		p.sees(card("zero"), "nothing delivered yet")
		p.sees(card("zero"), "seq 0")
		p.sees(card("steady"), "steady")
		cursor := w.cursor("steady")
		p.sees(card("steady"), fmt.Sprintf("seq %.0f", cursor["last_sequence"]))
		p.sees(card("steady"), strings.TrimPrefix(cursor["last_delivery_id"].(string), "notif:"))
		p.sees(card("steady")+" time", "")
		p.sees(card("failing"), "next attempt")
		p.sees(card("failing"), "status 500")
		p.sees(card("mismatch"), "the event says completed, the turn is failed")
		p.sees(card("backlog"), "Too many deliveries wait")
		p.sees(card("disabled"), "the target no longer accepts messages")
		kept := w.cursor("deleted")
		p.sees(card("deleted"), fmt.Sprintf("Its cursor is kept at seq %.0f: if you create it again, it continues there.", kept["last_sequence"]))
		p.noWiderThanTheScreen()

		p.press(card("steady")+" summary", "Deliveries")
		p.press(card("steady")+" button", "Redeliver")
		p.sees(card("steady"), "sent again")
		p.press(card("mismatch")+" button", "Skip …")
		p.write(card("mismatch")+" form input", "the store was repaired by hand")
		p.press(card("mismatch")+" form button", "Skip …")
		p.until("document.querySelector('" + card("mismatch") + "').dataset.shows !== 'held'")
		p.press(card("deleted")+" button", "Create it again")
		p.until("document.querySelector('" + card("deleted") + "').dataset.shows !== 'deleted'")
		w.goesOn("deleted", kept["last_sequence"].(float64))
		p.press(card("steady")+" button", "Pause")
		p.until("document.querySelector('" + card("steady") + "').dataset.shows === 'paused'")
		p.press(card("zero")+" button", "Reset …")
		p.write(card("zero")+" form input", "1 to see it again")
		p.press(card("zero")+" form button", "Reset …")
		p.sees(card("zero"), "generation 2")
		p.press("li.card:not(.subscription):nth-of-type(1) button", "Send a test")
		p.sees("[role=status]", "did not arrive: status 500")
		p.press("li.card:not(.subscription):nth-of-type(3) button", "Send a test")
		p.sees("[role=status]", "arrived after")
	})
}
