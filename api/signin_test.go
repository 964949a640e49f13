package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// fakeTokens says what it is asked.
type fakeTokens struct {
	Tokens
	code tokens.MakeCode
	in   tokens.SignIn
	out  tokens.SignOut
	of   string
	rows []tokens.Token
}

func (f *fakeTokens) MakeCode(_ context.Context, c tokens.MakeCode) (tokens.CodeResult, error) {
	f.code = c
	return tokens.CodeResult{}, nil
}

func (f *fakeTokens) SignIn(_ context.Context, c tokens.SignIn) (tokens.Result, error) {
	f.in = c
	return tokens.Result{}, nil
}

func (f *fakeTokens) SignOut(_ context.Context, c tokens.SignOut) (tokens.SignOutResult, error) {
	f.out = c
	return tokens.SignOutResult{SignIns: []tokens.Token{}}, nil
}

func (f *fakeTokens) SignIns(parent, _ string, _ int, _ bool) (turns.List[tokens.Token], error) {
	f.of = parent
	return turns.List[tokens.Token]{Rows: f.rows}, nil
}

// A code opens two methods, whatever it is for. A console token opens what a named one of
// its role and threads does, but makes neither codes nor further ones.
func TestWhatACodeAndAConsoleTokenOpen(t *testing.T) {
	a, _, _ := newFamily(t)
	a.DefaultThread = "own"
	for _, c := range whatTokensMay {
		params := c.params
		if strings.Contains(params, "%[1]s") {
			params = fmt.Sprintf(c.params, "own")
		}
		for _, role := range tokens.Roles {
			for _, limited := range [][]string{nil, {"own"}} {
				code := Token{Name: "phone.console-a", Parent: "phone", Code: &tokens.Code{}, Role: role, ThreadIDs: limited}
				opens, reason := c.method == "initialize" || c.method == "signin/create", "code"
				refused := useToken(t, a, code, c.method, params)
				if opens != (refused == nil) || refused != nil && refused.Data.Reason != reason {
					t.Errorf("a code, %s, %v: %s %s: refused with %v", role, limited, c.method, params, refused)
				}

				named := useToken(t, a, Token{Name: "phone", Role: role, ThreadIDs: limited}, c.method, params)
				refused = useToken(t, a, Token{Name: "phone.console-a", Parent: "phone", Role: role, ThreadIDs: limited}, c.method, params)
				switch c.method {
				case "signin/code", "signin/create":
					if refused == nil || refused.Data.Kind != KindForbidden || refused.Data.Reason != "console" {
						t.Errorf("a console token, %s, %v: %s: refused with %v", role, limited, c.method, refused)
					}
				default:
					if (named == nil) != (refused == nil) {
						t.Errorf("a console token, %s, %v: %s %s: refused with %v, a named one with %v", role, limited, c.method, params, refused, named)
					}
				}
			}
		}
	}
	ctx := WithToken(context.Background(), Token{Name: "phone.console-a", Parent: "phone", Code: &tokens.Code{}, Role: read})
	if _, err := a.ResolveStart(ctx, &StreamStart{Given: true}); err == nil {
		t.Error("a code opens a stream")
	}
	for path, want := range map[string]bool{"/rpc": true, "/rpc/stream": false, "/events": false, "/metrics": false, "/mcp": false, "/healthz": true} {
		if OpensPath(ctx, path) != want {
			t.Errorf("a code opens %s: %v", path, !want)
		}
	}
}

// Who asks is set by the server.
func TestSignInsAreThoseOfTheRequester(t *testing.T) {
	a, _, _ := newFamily(t)
	code := &tokens.Code{Name: "phone.console-b"}
	phone := Token{Name: "phone", Role: read}
	page := Token{Name: "phone.console-a", Parent: "phone", Role: read}
	owners := Token{Name: "owner.console-c", Parent: tokens.OwnerName, Role: operate}
	trades := Token{Name: code.Name, Parent: "phone", Code: code, Role: read}
	for _, c := range []struct {
		who        *Token
		parent, of string
		by         tokens.By
	}{{nil, "owner", "", "owner"}, {&phone, "phone", "phone", "token:phone"}, {&page, "phone", "phone", "token:phone.console-a"}, {&owners, "owner", "owner", "token:owner.console-c"}} {
		f := &fakeTokens{rows: []tokens.Token{{Name: "phone.console-a"}, {Name: "owner.console-c"}}}
		a.Tokens = f
		ctx, name := context.Background(), ""
		if c.who != nil {
			ctx, name = WithToken(ctx, *c.who), c.who.Name
		}
		if rep, _ := a.Call(ctx, "signin/delete", jsontext.Value(`{"all":true}`), Call{}); rep.Err != nil || f.out.Of != c.of || f.out.By != c.by || !f.out.All {
			t.Errorf("%s signs out %+v, %v", name, f.out, rep.Err)
		}
		rep, _ := a.Call(ctx, "signin/list", jsontext.Value(`{}`), Call{})
		if rep.Err != nil || f.of != c.of || strings.Count(string(rep.Result), `"current":true`) != strings.Count(name, ".") {
			t.Errorf("%s lists those of %q: %s, %v", name, f.of, rep.Result, rep.Err)
		}
		if a.Call(ctx, "signin/code", jsontext.Value(`{"name":"desk","role":"read"}`), Call{}); strings.Contains(name, ".") == (f.code.Parent == c.parent) {
			t.Errorf("%s makes the code %+v", name, f.code)
		}
		if a.Call(ctx, "signin/create", jsontext.Value(`{}`), Call{}); strings.Contains(name, ".") == (f.in.Parent == c.parent) || f.in.Code != nil {
			t.Errorf("%s makes the token %+v", name, f.in)
		}
		if got := personOf(ctx); got != c.parent {
			t.Errorf("what %s has looked at is that of %s", name, got)
		}
	}
	f := &fakeTokens{}
	a.Tokens = f
	if a.Call(WithToken(context.Background(), trades), "signin/create", jsontext.Value(`{}`), Call{}); f.in.Code != code || f.in.Parent != "phone" {
		t.Errorf("a code makes the token %+v", f.in)
	}
}

func TestInitializeSaysWhatACodeMakes(t *testing.T) {
	a, _, _ := newFamily(t)
	at := notify.Time{}
	for _, c := range []struct {
		who  Token
		want string
	}{
		{Token{Name: "phone.console-a", Parent: "phone", Code: &tokens.Code{}, Role: respond, ThreadIDs: []string{"own"}, ExpiresAt: at},
			`"token":{"name":"phone.console-a","parent":"phone","code":true,"role":"respond","limited_to":["own"]}`},
		{Token{Name: "phone.console-a", Parent: "phone", Role: read}, `"token":{"name":"phone.console-a","parent":"phone","role":"read"}`},
		{Token{Name: "phone", Role: read}, `"token":{"name":"phone","role":"read"}`},
	} {
		rep, _ := a.Call(WithToken(context.Background(), c.who), "initialize", jsontext.Value(`{}`), Call{})
		if rep.Err != nil || !strings.Contains(string(rep.Result), c.want) {
			t.Errorf("%s: %v", rep.Result, rep.Err)
		}
	}
}

// What a console token has looked at is what its parent has.
func TestAConsoleTokenAdvancesTheCursorsOfItsParent(t *testing.T) {
	a, _, _ := newFamily(t)
	for name, c := range map[string]Token{
		"phone": {Name: "phone.console-a", Parent: "phone", Role: read}, "owner": {Name: "owner.console-a", Parent: "owner", Role: work},
	} {
		for _, consumer := range []string{"phone", "owner", c.Name} {
			params := fmt.Sprintf(`{"consumer_id":"seen:%s","stream_name":"events","subject_id":"own","last_sequence":0}`, consumer)
			if refused := useToken(t, a, c, "cursor/advance", params); (refused == nil) != (consumer == name) {
				t.Errorf("%s and seen:%s: refused with %v", c.Name, consumer, refused)
			}
		}
	}
}

// Asking for more than one has names the role that is needed.
func TestACodeForMoreIsRefusedWithTheRole(t *testing.T) {
	a, _, _ := newFamily(t)
	refused := useToken(t, a, Token{Name: "phone", Role: read}, "signin/code", `{"role":"work"}`)
	if refused == nil || refused.Data.Role != work || refused.Data.Field != "role" {
		t.Errorf("%+v", refused)
	}
}
