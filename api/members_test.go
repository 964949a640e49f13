package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
)

// wantMembers checks which threads of the family, and events without a thread, are
// members.
func wantMembers(t *testing.T, what string, in notify.Members, want ...string) {
	t.Helper()
	for _, id := range append([]string{"", "missing"}, everyone...) {
		if ok, err := in.Has(context.Background(), id); err != nil || ok != slices.Contains(want, id) {
			t.Errorf("%s: %q is a member: %v %v", what, id, ok, err)
		}
	}
}

func TestMembersAreThreadsAndThoseBelow(t *testing.T) {
	a, f, _ := newFamily(t)
	ctx := context.Background()
	wantMembers(t, "a tree", a.members(ctx, []string{"own"}), "own", "child", "grandchild")
	wantMembers(t, "two", a.members(ctx, []string{"child", "sibling"}), "child", "grandchild", "sibling")
	wantMembers(t, "one that does not exist yet", a.members(ctx, []string{"later", "stranger"}), "stranger")
	if in := a.members(ctx, nil); in != nil {
		t.Errorf("all threads are %v, want nil", in)
	}
	agent := WithAgent(ctx, tokens.Agent{ThreadID: "own"})
	wantMembers(t, "an agent", a.members(agent, nil), "own", "child", "grandchild")
	wantMembers(t, "what an agent asks for", a.members(agent, []string{"child", "sibling"}), "child", "grandchild")

	later := a.members(ctx, []string{"later"})
	familyTree["later"], familyTree["below"] = "", "later"
	defer delete(familyTree, "later")
	defer delete(familyTree, "below")
	if ok, err := later.Has(ctx, "below"); err != nil || !ok {
		t.Error("a set does not grow by threads that start later")
	}
	f.fail = errors.New("the disk")
	if _, err := a.members(ctx, []string{"own"}).Has(ctx, "unread"); err == nil {
		t.Error("a thread that cannot be read is judged")
	}
}

func TestThreadListIsOfThreadsAndThoseBelow(t *testing.T) {
	a, f, _ := newFamily(t)
	list := func(params string) *Error {
		rep, _ := a.Call(context.Background(), "thread/list", jsontext.Value(params), Call{})
		return rep.Err
	}
	if refused := list(`{"within_thread_ids":["child","stranger"]}`); refused != nil {
		t.Fatal(refused)
	}
	wantMembers(t, "thread/list", f.listed.Within, "child", "grandchild", "stranger")
	for _, params := range []string{`{}`, `{"within_thread_ids":[]}`, `{"within_thread_ids":null}`} {
		if refused := list(params); refused != nil || f.listed.Within != nil {
			t.Errorf("%s: %v, of %v", params, refused, f.listed.Within)
		}
	}
}

// withinMethods take within_thread_ids.
var withinMethods = map[string]string{"thread/list": `{`, "event/list": `{"after_seq":0,`, "stream/subscribe": `{`}

func TestWithinThreadIDsAreChecked(t *testing.T) {
	a, _, _ := newFamily(t)
	many, _ := json.Marshal(slices.Repeat([]string{"t"}, maxFilterEntries+1))
	most, _ := json.Marshal(slices.Repeat([]string{"t"}, maxFilterEntries))
	for method, rest := range withinMethods {
		for _, c := range []struct{ ids, field, reason string }{
			{`["child",""]`, "within_thread_ids[1]", "malformed"},
			{`["` + strings.Repeat("x", 129) + `"]`, "within_thread_ids[0]", "malformed"},
			{string(many), "within_thread_ids", "too_many"},
			{string(most), "", ""},
			{`"child"`, "within_thread_ids", "wrong_type"},
		} {
			ctx := WithConn(context.Background(), &noConn{})
			rep, _ := a.Call(ctx, method, jsontext.Value(rest+`"within_thread_ids":`+c.ids+`}`), Call{OnConnection: true})
			field, reason := "", ""
			if rep.Err != nil {
				field, reason = rep.Err.Data.Field, rep.Err.Data.Reason
			}
			if field != c.field || reason != c.reason {
				t.Errorf("%s of %.40s: %q %q, want %q %q", method, c.ids, field, reason, c.field, c.reason)
			}
		}
	}
}

// A token that is limited may not ask for other threads.
func TestThreadsWithinAreThoseOfTheToken(t *testing.T) {
	a, _, _ := newFamily(t)
	limited := Token{Name: "phone", Role: tokens.RoleRead, ThreadIDs: []string{"own"}}
	for method, rest := range withinMethods {
		if refused := useToken(t, a, limited, method, rest+`"within_thread_ids":["child","own"]}`); refused != nil {
			t.Errorf("%s: %v", method, refused)
		}
		refused := useToken(t, a, limited, method, rest+`"within_thread_ids":["child","sibling"]}`)
		if refused == nil || refused.Data.Field != "within_thread_ids[1]" {
			t.Errorf("%s of a thread that is not the token's: %v", method, refused)
		}
	}
	// A stream that is asked for by a URL comes past the table.
	ctx := WithToken(context.Background(), limited)
	for within, field := range map[string]string{"own": "", "child": "", "parent": "within_thread_ids[0]", "missing": "within_thread_ids[0]"} {
		_, err := a.ResolveStart(ctx, &StreamStart{Given: true, Within: []string{within}})
		got := ""
		if err != nil {
			got = a.Error("stream", err).Data.Field
		}
		if got != field {
			t.Errorf("a stream within %s: %v", within, err)
		}
	}
}

func TestAStreamWithinThreadsNarrowsWhatAnAgentMaySee(t *testing.T) {
	a, f, _ := newFamily(t)
	subscribe := func(ctx context.Context, params string) (*notify.Filter, *Error) {
		c := &noConn{}
		rep, _ := a.Call(WithConn(ctx, c), "stream/subscribe", jsontext.Value(params), Call{OnConnection: true})
		if rep.Err != nil {
			return nil, rep.Err
		}
		return &c.at.Filter, nil
	}
	agent := WithAgent(context.Background(), tokens.Agent{ThreadID: "own"})
	got, refused := subscribe(context.Background(), `{"within_thread_ids":["parent"],"thread_ids":["sibling","stranger"]}`)
	if refused != nil || !slices.Equal(got.ThreadIDs, []string{"sibling", "stranger"}) {
		t.Fatalf("%v, %v", got, refused)
	}
	wantMembers(t, "a client", got.Within, "parent", "own", "sibling", "child", "grandchild")
	if got, refused = subscribe(agent, `{"within_thread_ids":["child"]}`); refused != nil {
		t.Fatal(refused)
	}
	wantMembers(t, "an agent", got.Within, "child", "grandchild")
	for _, id := range []string{"parent", "sibling", "missing"} {
		_, refused := subscribe(agent, `{"within_thread_ids":["own","`+id+`"]}`)
		if refused == nil || refused.Data.Kind != KindForbidden || refused.Data.Field != "within_thread_ids[1]" {
			t.Errorf("%s: %v", id, refused)
		}
		rep, _ := a.Call(agent, "event/list", jsontext.Value(`{"after_seq":0,"within_thread_ids":["`+id+`"]}`), Call{})
		if rep.Err == nil || rep.Err.Data.Kind != KindForbidden || rep.Err.Data.Field != "within_thread_ids[0]" {
			t.Errorf("event/list of %s: %v", id, rep.Err)
		}
	}
	f.paged = notify.Page{First: 1, Latest: 3, Scanned: 3, Events: []notify.Event{
		{Seq: 1, Params: []byte(`{"seq":1,"thread_seq":1,"thread_id":"own"}`)}, {Seq: 2, Params: []byte(`{"seq":2}`)},
		{Seq: 3, Params: []byte(`{"seq":3,"thread_seq":1,"thread_id":"grandchild"}`)},
	}}
	rep, _ := a.Call(context.Background(), "event/list", jsontext.Value(`{"after_seq":0,"within_thread_ids":["child"]}`), Call{})
	if rep.Err != nil || strings.Count(string(rep.Result), `"params"`) != 1 || !strings.Contains(string(rep.Result), `"grandchild"`) || !strings.Contains(string(rep.Result), `"next_after_seq":3`) {
		t.Errorf("event/list: %s %v", rep.Result, rep.Err)
	}
}
