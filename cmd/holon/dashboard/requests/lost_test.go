package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// answers is a server that notes what is asked, and refuses some turns.
type answers struct {
	asked   []string
	refused map[string]error
}

func (a *answers) Call(_ context.Context, method string, params, _ any) error {
	p := params.(map[string]any)
	if method == "cursor/advance" {
		a.asked = append(a.asked, fmt.Sprint(method, p["consumer_id"], p["stream_name"], p["last_sequence"]))
		return a.refused[method]
	}
	a.asked = append(a.asked, fmt.Sprint(method, p["turn_id"], p["idempotency_key"]))
	return a.refused[p["turn_id"].(string)]
}

func TestTurnsOfARestartAreRetriedOneByOneAndDismissedTogether(t *testing.T) {
	lost := restarts.Lost{Turns: []turns.Turn{{TurnID: "a", RestartSeq: 7}, {TurnID: "b", RestartSeq: 8}}}
	closed := &client.Error{HTTPStatus: 200, Kind: "thread_closed", Message: "it is closed"}
	server := &answers{refused: map[string]error{"a": closed}}
	r := Requests{Server: server, Consumer: "seen:me"}
	done, ok := r.Do(t.Context(), screen.RetryLost{Lost: lost})
	if want := `{"again":1,"refused":1,"why":` + fmt.Sprintf("%q", screen.Words(closed)) + `}`; !ok || done.Err != nil || string(done.Result) != want {
		t.Errorf("%s, %v, want %s", done.Result, done.Err, want)
	}
	server.refused["b"] = closed
	if done, _ := r.Do(t.Context(), screen.RetryLost{Lost: lost}); !errors.Is(done.Err, error(closed)) {
		t.Errorf("all are refused: %v", done.Err)
	}
	for _, err := range []error{nil, &client.Error{Kind: "conflict", Reason: "not_monotonic"}} {
		server.refused["cursor/advance"] = err
		if done, ok := r.Do(t.Context(), screen.DismissLost{Lost: lost}); !ok || done.Err != nil {
			t.Errorf("dismissed, and the answer is %v: %v", err, done.Err)
		}
	}
	server.refused["cursor/advance"] = closed
	if done, _ := r.Do(t.Context(), screen.DismissLost{Lost: lost}); done.Err == nil {
		t.Error("a refused dismissal is no error")
	}
	retry, advance := []string{"turn/retryarestart-a-7", "turn/retrybrestart-b-8"}, "cursor/advanceseen:merestarts8"
	if want := slices.Concat(retry, retry, []string{advance, advance, advance}); !slices.Equal(server.asked, want) {
		t.Errorf("asked %q, want %q", server.asked, want)
	}
}

// What is seen with a console token is kept for the person whose token it ends with.
func TestAPersonIsTheSameWithAConsoleToken(t *testing.T) {
	var h Hello
	for _, c := range []struct{ name, parent, want string }{{"", "", "seen:owner"}, {"phone", "", "seen:phone"}, {"phone.console-1", "phone", "seen:phone"}} {
		if h.Token.Name, h.Token.Parent = c.name, c.parent; h.Consumer() != c.want {
			t.Errorf("%q of %q is %s, want %s", c.name, c.parent, h.Consumer(), c.want)
		}
	}
}
