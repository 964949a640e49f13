package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// row is a row of the table in docs/write-an-agent.md, "ACP: what becomes what". Each
// step is an update, or a line that begins with one of the words of play.
type row struct {
	name  string
	o     Options
	steps []string
	want  []string
}

func TestEachKindOfUpdateBecomesWhatTheTableSays(t *testing.T) {
	for _, rows := range [][]row{messageRows, callRows, planRows, threadRows, strangeRows, outsideRows} {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				got := play(New(r.o), r.steps)
				for i := range max(len(got), len(r.want)) {
					g, w := "", ""
					if i < len(got) {
						g = got[i]
					}
					if i < len(r.want) {
						w = r.want[i]
					}
					if g != w {
						t.Errorf("line %d\n got %s\nwant %s", i+1, g, w)
					}
				}
				if t.Failed() {
					t.Log("\n" + "`" + strings.Join(got, "`,\n`") + "`,")
				}
			})
		}
	}
}

func play(s *Session, steps []string) []string {
	var r renderer
	var asked items.PermissionRequest
	for _, step := range steps {
		word, rest, _ := strings.Cut(step, " ")
		raw := jsontext.Value(rest)
		switch word {
		case "begin":
			r.ops(s.Begin(0))
		case "again": // a further prompt of the same turn
			r.ops(s.Begin(1))
		case "end":
			r.ops(s.PromptEnded(raw, false))
		case "interrupted":
			r.ops(s.PromptEnded(raw, true))
		case "opened":
			r.ops(s.Opened(raw))
		case "mode":
			r.ops(s.ModeSet(rest))
		case "model":
			r.ops(s.ModelSet(rest))
		case "replayed":
			r.ops(s.Replayed(raw))
		case "outside":
			r.ops(s.Outside(raw))
		case "flush":
			r.ops(s.Flush())
		case "gone":
			r.ops(s.Gone())
		case "permission":
			ops, q, err := s.Permission(raw)
			r.ops(ops)
			if err != nil {
				r.lines = append(r.lines, fmt.Sprint("error ", err))
				continue
			}
			asked = q
			r.question(q)
		case "refused":
			s.Answered(asked, items.Answer{Status: items.StatusDeclined})
		case "elicitation":
			ops, q, err := s.Elicitation(raw)
			r.ops(ops)
			if err != nil {
				r.lines = append(r.lines, fmt.Sprint("error ", err))
				continue
			}
			r.lines = append(r.lines, "ask "+encoded(q))
		default:
			r.ops(s.Update(jsontext.Value(step)))
		}
	}
	return r.lines
}
