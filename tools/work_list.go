package tools

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of work_list. A text in full is as long as a model can read at once.
const (
	maxListed    = 20
	maxReadTurns = 8
	maxFullText  = 64 << 10
	maxLastLines = 300 // bytes
)

// workListIn are the params of work_list.
type workListIn struct {
	TurnIDs []string `json:"turn_ids,omitempty" jsonschema:"at most 8 turns, to read what they said in full"`
	Cursor  string   `json:"cursor,omitempty" jsonschema:"next_cursor of the last answer, for older turns"`
}

// listed is the data of work_list.
type listed struct {
	Turns      []turns.Result `json:"turns"`
	NextCursor string         `json:"next_cursor,omitzero"`
}

func (s *Server) workList(ctx context.Context, r *request, in workListIn) (answer, *api.Error) {
	if len(in.TurnIDs) > maxReadTurns {
		return answer{}, api.Invalid("turn_ids", turns.ReasonRange, "name at most %d", maxReadTurns)
	}
	var out listed
	var rows []turns.Turn
	for _, id := range in.TurnIDs {
		t, _, refused := call[api.TurnReadResult](ctx, s.Caller, "turn/read", api.TurnReadParams{TurnID: id})
		if refused != nil {
			return answer{}, refused
		}
		rows = append(rows, *t.Turn)
	}
	if len(in.TurnIDs) == 0 {
		limit := maxListed
		l, _, refused := call[api.TurnListResult](ctx, s.Caller, "turn/list", api.TurnListParams{
			ParentThreadID: r.agent.ThreadID, Page: api.Page{Limit: &limit, Cursor: in.Cursor, Order: api.OrderDesc},
		})
		if refused != nil {
			return answer{}, refused
		}
		rows, out.NextCursor = l.Turns, l.NextCursor
	}
	for i := range rows {
		said, refused := s.lastMessage(ctx, rows[i].TurnID)
		if refused != nil {
			return answer{}, refused
		}
		out.Turns = append(out.Turns, inShort(&rows[i], said, len(in.TurnIDs) > 0))
	}
	return listText(out)
}

// inShort returns a turn with what it said: in full, or its last lines.
func inShort(t *turns.Turn, said items.Said, full bool) turns.Result {
	res := turns.ResultOf(t, items.Said{Format: said.Format}, notify.TimeOf(time.Now()))
	if full {
		res.Text = said.Text
		res.Shorten(maxFullText)
		return res
	}
	text := strings.TrimRight(said.Text, "\n")
	lines := strings.Split(text, "\n")
	last := strings.Join(lines[max(0, len(lines)-3):], "\n")
	if len(last) > maxLastLines {
		at := len(last) - maxLastLines
		for !utf8.RuneStart(last[at]) {
			at++
		}
		last = last[at:]
	}
	res.Text, res.TextTruncated = last, last != text
	return res
}

// lastMessage returns the newest message of the agent in a turn; it has no text if there is none.
func (s *Server) lastMessage(ctx context.Context, turnID string) (items.Said, *api.Error) {
	one := 1
	l, _, refused := call[api.ItemListResult](ctx, s.Caller, "item/list", api.ItemListParams{
		TurnID: turnID, Type: items.KindAgentMessage, Page: api.Page{Limit: &one, Order: api.OrderDesc},
	})
	if refused != nil || len(l.Items) == 0 {
		return items.Said{}, refused
	}
	var m items.AgentMessage
	if err := json.Unmarshal(l.Items[0].Content, &m); err != nil {
		return items.Said{}, nil // a kind of message that this version does not know
	}
	return items.SaidIn(m), nil
}

func listText(out listed) (answer, *api.Error) {
	data, err := json.Marshal(out, api.WireOptions)
	if err != nil {
		return answer{}, api.Errorf(api.KindInternal, "")
	}
	if len(out.Turns) == 0 {
		return saying("You have no child turns. work_start starts one.\n", data), nil
	}
	text := ""
	if out.NextCursor != "" {
		text = "There are older ones: call work_list with the cursor " + out.NextCursor + ".\n"
	}
	return quotingResults(out.Turns, text+whatFollows(out.Turns), data), nil
}
