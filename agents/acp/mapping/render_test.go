package mapping

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// renderer writes ops as lines, with small numbers as item ids.
type renderer struct {
	numbers map[string]int
	lines   []string
}

func (r *renderer) number(id string) int {
	if r.numbers == nil {
		r.numbers = map[string]int{}
	}
	if r.numbers[id] == 0 {
		r.numbers[id] = len(r.numbers) + 1
	}
	return r.numbers[id]
}

func (r *renderer) ops(ops []items.Op) {
	for _, op := range ops {
		r.lines = append(r.lines, r.line(op))
	}
}

func (r *renderer) line(op items.Op) string {
	switch op := op.(type) {
	case items.Create:
		return strings.TrimSpace(fmt.Sprintf("create %d %s %s", r.number(op.ItemID), op.Status, encoded(op.Content)))
	case items.Append:
		return fmt.Sprintf("append %d %q", r.number(op.ItemID), op.Text)
	case items.Update:
		line := fmt.Sprintf("update %d %s", r.number(op.ItemID), op.Status)
		if op.Content != nil {
			line += " " + encoded(op.Content)
		}
		return strings.TrimSpace(line)
	case items.SetUsage:
		return "usage " + encoded(op.Usage)
	case items.SetThread:
		return strings.Join(strings.Fields("thread "+op.Title+" "), " ") + strings.TrimSuffix(" "+string(op.Config), " ")
	case items.Progress:
		return "progress " + op.Message
	}
	return fmt.Sprintf("%#v", op)
}

func (r *renderer) question(q items.PermissionRequest) {
	if n, ok := r.numbers[q.Subject.ItemID]; ok {
		q.Subject.ItemID = fmt.Sprint(n)
	}
	r.lines = append(r.lines, "ask "+encoded(q))
}

// encoded is content as JSON, with its members in their order and without the
// spaces of the agents' JSON.
func encoded(c items.Content) string {
	b, err := json.Marshal(c, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err.Error()
	}
	v := jsontext.Value(b)
	if err := v.Compact(); err != nil {
		return err.Error()
	}
	return string(v)
}
