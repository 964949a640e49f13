package api

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// answering is an engine that keeps the answers to questions.
type answering struct {
	Engine
	answers []turns.Respond
}

func (e *answering) Respond(_ context.Context, c turns.Respond) (turns.RespondResult, error) {
	e.answers = append(e.answers, c)
	if c.Once && c.OptionID != "once" {
		return turns.RespondResult{}, turns.ErrOnlyOnce
	}
	return turns.RespondResult{}, nil
}

// An option that may allow more than this once widens what an agent may do. It takes the
// role work, also from the server's own user if the request carries a token.
func TestATokenToAnswerWithAnswersForOnce(t *testing.T) {
	a, _, _ := newFamily(t)
	e := &answering{Engine: a.Engine}
	a.Engine = e
	const params = `{"item_id":"item_own","option_id":"ever"}`
	for role, once := range map[tokens.Role]bool{respond: true, work: false, operate: false} {
		refused := useToken(t, a, Token{Name: "phone", Role: role}, "item/respond", params)
		if once != (refused != nil && refused.Data.Kind == KindForbidden && refused.Data.Field == "option_id" && refused.Data.Reason == "role" && refused.Data.Role == work) {
			t.Errorf("%s: %+v", role, refused)
		}
		c := e.answers[len(e.answers)-1]
		if c.Once != once || c.By != "token:phone" {
			t.Errorf("%s: the answer is for once only: %v, want %v; by %s", role, c.Once, once, c.By)
		}
	}
	a.Call(context.Background(), "item/respond", jsontext.Value(params), Call{})
	if c := e.answers[len(e.answers)-1]; len(e.answers) != 4 || c.Once {
		t.Errorf("%d answers; that of the server's own user is for once only: %v", len(e.answers), c.Once)
	}
}
