package api

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/tokens"
)

// wholeMethods take whole_thread_ids, with content summary.
var wholeMethods = map[string]string{"event/list": `{"after_seq":0,`, "stream/subscribe": `{`}

func TestWholeThreadIDsAreChecked(t *testing.T) {
	a, _, _ := newFamily(t)
	many, _ := json.Marshal(slices.Repeat([]string{"t"}, maxFilterEntries+1))
	most, _ := json.Marshal(slices.Repeat([]string{"t"}, maxFilterEntries))
	for method, rest := range wholeMethods {
		for _, c := range []struct{ content, ids, field, reason string }{
			{`"content":"summary",`, `["child",""]`, "whole_thread_ids[1]", "malformed"},
			{`"content":"summary",`, `["` + strings.Repeat("x", 129) + `"]`, "whole_thread_ids[0]", "malformed"},
			{`"content":"summary",`, string(many), "whole_thread_ids", "too_many"},
			{`"content":"summary",`, string(most), "", ""},
			{`"content":"summary",`, `"child"`, "whole_thread_ids", "wrong_type"},
			{`"content":"summary",`, `["missing","child","child"]`, "", ""},
			{``, `["child"]`, "whole_thread_ids", "not_summary"},
			{`"content":"",`, `["child"]`, "whole_thread_ids", "not_summary"},
			{``, `[]`, "", ""},
			{``, `null`, "", ""},
		} {
			ctx := WithConn(context.Background(), &noConn{})
			rep, _ := a.Call(ctx, method, jsontext.Value(rest+c.content+`"whole_thread_ids":`+c.ids+`}`), Call{OnConnection: true})
			field, reason := "", ""
			if rep.Err != nil {
				field, reason = rep.Err.Data.Field, rep.Err.Data.Reason
			}
			if field != c.field || reason != c.reason {
				t.Errorf("%s of %s%.40s: %q %q, want %q %q", method, c.content, c.ids, field, reason, c.field, c.reason)
			}
		}
	}
}

// A request may not name threads that its token does not see, whole as little as
// chosen: the answer to both is the same.
func TestWholeThreadsAreThoseOfTheToken(t *testing.T) {
	a, _, _ := newFamily(t)
	limited := Token{Name: "phone", Role: tokens.RoleRead, ThreadIDs: []string{"own"}}
	agent := WithAgent(context.Background(), tokens.Agent{ThreadID: "own"})
	for method, rest := range wholeMethods {
		rest += `"content":"summary","whole_thread_ids":`
		if refused := useToken(t, a, limited, method, rest+`["child","own"]}`); refused != nil {
			t.Errorf("%s: %v", method, refused)
		}
		for _, id := range []string{"sibling", "parent", "missing"} {
			refused := useToken(t, a, limited, method, rest+`["child","`+id+`"]}`)
			if refused == nil || refused.Data.Kind != KindForbidden || refused.Data.Field != "whole_thread_ids[1]" {
				t.Errorf("%s of %s for a token: %v", method, id, refused)
			}
			rep, _ := a.Call(WithConn(agent, &noConn{}), method, jsontext.Value(rest+`["child","`+id+`"]}`), Call{OnConnection: true})
			if rep.Err == nil || rep.Err.Data.Kind != KindForbidden || rep.Err.Data.Field != "whole_thread_ids[1]" {
				t.Errorf("%s of %s for an agent: %v", method, id, rep.Err)
			}
		}
	}
	// A stream that is asked for by a URL comes past the table.
	for who, ctx := range map[string]context.Context{"a token": WithToken(context.Background(), limited), "an agent": agent} {
		for _, id := range []string{"own", "child", "grandchild", "parent", "sibling", "missing"} {
			field := func(at StreamStart) string {
				at.Given, at.Summary = true, true
				_, err := a.ResolveStart(ctx, &at)
				if err == nil {
					return ""
				}
				return a.Error("stream", err).Data.Field
			}
			whole, chosen := field(StreamStart{Whole: []string{id}}), field(StreamStart{Within: []string{id}})
			if strings.Replace(whole, "whole", "within", 1) != chosen || (whole == "") != slices.Contains([]string{"own", "child", "grandchild"}, id) {
				t.Errorf("%s with %s whole: %q, within it: %q", who, id, whole, chosen)
			}
		}
	}
}

// The table of methods finds these threads in params like all others that are named.
func TestWholeThreadsAreNamedByTheRequest(t *testing.T) {
	for _, p := range []any{StreamSubscribeParams{Whole: []string{"a", "b"}}, EventListParams{Whole: []string{"a", "b"}}} {
		v := reflect.ValueOf(p)
		n := shapeOf(v.Type()).named(v)
		if !slices.Equal(n.ThreadIDs, []string{"a", "b"}) || !slices.Equal(n.members, []string{"whole_thread_ids[0]", "whole_thread_ids[1]"}) {
			t.Errorf("%T: %+v", p, n)
		}
	}
}
