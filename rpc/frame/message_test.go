package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/limits"
)

// told is a message in one line, for tables.
func told(m Message) string {
	switch m.Fault {
	case ParseError:
		return strings.TrimSuffix(fmt.Sprintf("parse error %s", m.ID), " ")
	case Dropped:
		return "dropped"
	case InvalidRequest:
		return fmt.Sprintf("invalid %s", m.ID)
	case InvalidParams:
		return fmt.Sprintf("invalid params %s", m.ID)
	}
	if m.ID == nil {
		return fmt.Sprintf("notification %s %s", m.Method, string(m.Params))
	}
	return fmt.Sprintf("request %s %s %s", m.ID, m.Method, string(m.Params))
}

func TestEnvelopesAreJudgedByRule(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ name, frame, want string }{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, `request 1 m {"a":1}`},
		{"a notification", `{"jsonrpc":"2.0","method":"m"}`, `notification m `},
		{"null params", `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, `request 1 m `},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, `request 1  `},
		{"unknown members", `{"x":1,"jsonrpc":"2.0","id":1,"method":"m","x":2,"Id":9,"METHOD":"n"}`, `request 1 m `},
		{"white space", " {\t\"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" } ", `request 1 m `},
		{"escaped names", `{"\u006asonrpc":"2.0","\u0069d":1,"met\u0068od":"m"}`, `request 1 m `},
		{"an escaped method", `{"jsonrpc":"2.0","id":1,"method":"turn\/start\u0041"}`, `request 1 turn/startA `},

		{"a negative id", `{"jsonrpc":"2.0","id":-1,"method":"m"}`, `request -1 m `},
		{"minus zero", `{"jsonrpc":"2.0","id":-0,"method":"m"}`, `request -0 m `},
		{"a huge id", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}`, `request 123456789012345678901234567890 m `},
		{"an escaped id", `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, `request "\u0061\/" m `},
		{"an empty id", `{"jsonrpc":"2.0","id":"","method":"m"}`, `request "" m `},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, `request null m `},
		{"a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, `invalid `},
		{"a whole fraction", `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, `invalid `},
		{"an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"m"}`, `invalid `},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"m"}`, `invalid `},
		{"an array as id", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, `invalid `},
		{"a boolean as id", `{"jsonrpc":"2.0","id":true,"method":"m"}`, `invalid `},

		{"no version", `{"id":1,"method":"m"}`, `invalid 1`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"m"}`, `invalid 1`},
		{"a version as number", `{"jsonrpc":2.0,"id":1,"method":"m"}`, `invalid 1`},
		{"version in capitals", `{"JSONRPC":"2.0","id":1,"method":"m"}`, `invalid 1`},
		{"a broken notification", `{"jsonrpc":"1.0","method":"m"}`, `invalid `},
		{"no method", `{"jsonrpc":"2.0","id":1}`, `invalid 1`},
		{"a method that is none", `{"jsonrpc":"2.0","id":1,"method":5}`, `invalid 1`},
		{"an array as params", `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, `invalid params 1`},
		{"a number as params", `{"jsonrpc":"2.0","id":1,"method":"m","params":5}`, `invalid 1`},
		{"a string as params", `{"jsonrpc":"2.0","id":"x","method":"m","params":"p"}`, `invalid "x"`},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, `invalid `},
		{"id twice, once escaped", `{"jsonrpc":"2.0","id":1,"i\u0064":2,"method":"m"}`, `invalid `},
		{"method twice", `{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}`, `invalid `},
		{"params twice", `{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}`, `invalid `},
		{"version twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`, `invalid `},

		{"a result", `{"jsonrpc":"2.0","id":1,"result":null}`, `dropped`},
		{"an error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, `dropped`},
		{"a result with a method", `{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, `request 1 m `},
		{"a result without id", `{"jsonrpc":"2.0","result":1}`, `invalid `},

		{"a number", `5`, `invalid `},
		{"a string", `"x"`, `invalid `},
		{"null", `null`, `invalid `},
		{"an empty object", `{}`, `invalid `},
		{"an empty batch", `[]`, `invalid `},
		{"nothing", ``, `parse error`},
		{"half an object", `{"jsonrpc":"2.0","id":1,"method":"m"`, `parse error`},
		{"half a string", `{"jsonrpc":"2.0`, `parse error`},
		{"a bare word", `hello`, `parse error`},
		{"a comma too much", `{"jsonrpc":"2.0","id":1,"method":"m",}`, `parse error`},
		{"a leading zero", `{"jsonrpc":"2.0","id":01,"method":"m"}`, `parse error`},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"m"}{}`, `parse error`},
		{"text behind", `{"jsonrpc":"2.0","id":1,"method":"m"} x`, `parse error`},
		{"a control character", "{\"jsonrpc\":\"2.0\",\"id\":\"\x01\",\"method\":\"m\"}", `parse error`},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", `parse error`},
		{"invalid UTF-8 in an ignored member", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xc3\"}", `parse error 1`},
		{"half a surrogate pair in params", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"text":"\ud83d"}}`, `parse error 7`},
		{"half a surrogate pair before the id", `{"method":"m","params":{"text":"\udc00"},"id":"x","jsonrpc":"2.0"}`, `parse error "x"`},
		{"half a surrogate pair in a notification", `{"jsonrpc":"2.0","method":"m","params":{"text":"\ud83d"}}`, `parse error`},
		{"half a surrogate pair in a response", `{"jsonrpc":"2.0","id":7,"result":"\ud83d"}`, `parse error`},
		{"half a surrogate pair and two ids", `{"jsonrpc":"2.0","id":7,"id":8,"method":"\ud83d"}`, `parse error`},
		{"half a surrogate pair and an id that is none", `{"jsonrpc":"2.0","id":{},"method":"\ud83d"}`, `parse error`},
		{"half a surrogate pair and half a message", `{"jsonrpc":"2.0","id":7,"method":"\ud83d"`, `parse error`},
		{"half a surrogate pair and more", `{"jsonrpc":"2.0","id":7,"method":"\ud83d"} 5`, `parse error`},
		{"bytes that are not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", `parse error 7`},
		{"half a surrogate pair as id", `{"jsonrpc":"2.0","id":"\ud800","method":"m"}`, `parse error`},
		{"a byte order mark", "\xef\xbb\xbf{}", `parse error`},
		{"a broken batch", `[{"jsonrpc":"2.0","id":1,"method":"m"},`, `parse error`},
		{"something behind a batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}] 5`, `parse error`},

		{"64 levels", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + deep(62) + `}}`, `request 1 m {"a":` + deep(62) + `}`},
		{"65 levels", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + deep(63) + `}}`, `invalid 1`},
		{"65 levels in an ignored member", `{"jsonrpc":"2.0","id":1,"method":"m","x":` + deep(64) + `}`, `invalid 1`},
		{"20,000 levels", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + deep(20000) + `}}`, `invalid `},
		{"20,000 levels of array", deep(20000), `invalid `},
		{"brackets in a string", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat("[{\\\"", 100) + `"}}`, `request 1 m {"a":"` + strings.Repeat("[{\\\"", 100) + `"}`},
	} {
		var p Parser
		members, batch := p.Parse([]byte(c.frame))
		if batch || len(members) != 1 {
			t.Errorf("%s: a batch of %d", c.name, len(members))
			continue
		}
		if got := told(members[0]); got != c.want {
			t.Errorf("%s: %s, want %s (%s)", c.name, got, c.want, members[0].Why)
		}
	}
}

func TestBatchesAreUnpackedMemberByMember(t *testing.T) {
	var p Parser
	members, batch := p.Parse([]byte(`[{"jsonrpc":"2.0","id":1,"method":"m"}, 5 ,{"jsonrpc":"2.0","method":"n"},[],{"jsonrpc":"2.0","id":2,"result":1}]`))
	if !batch {
		t.Fatal("no batch")
	}
	var got []string
	for _, m := range members {
		got = append(got, told(m))
	}
	if s := strings.Join(got, "|"); s != "request 1 m |invalid |notification n |invalid |dropped" {
		t.Fatal(s)
	}
	for n, want := range map[int]bool{1: true, 100: true, 101: false} {
		one := `{"jsonrpc":"2.0","id":1,"method":"m"}`
		members, batch := p.Parse([]byte("[" + strings.Repeat(one+",", n-1) + one + "]"))
		if batch != want || batch && len(members) != n {
			t.Errorf("%d members: batch %v of %d", n, batch, len(members))
		}
	}
}

func TestIDsOfOneValueHaveOneKey(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`"a"`, `"\u0061"`, true}, {`1`, `"1"`, false}, {`0`, `-0`, true}, {`1`, `-1`, false}, {`"-0"`, `"0"`, false}, {`"`, `1`, false},
	} {
		if got := IDKey([]byte(c.a)) == IDKey([]byte(c.b)); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
	if IDKey([]byte("null")) != "" {
		t.Error("null names a request")
	}
}

func TestAHeaderOfLSPIsToldWhatIsSpoken(t *testing.T) {
	for line, want := range map[string]bool{
		"Content-Length: 52\r": true, "content-length:52": true, " CONTENT-LENGTH: x": true,
		"Content-Length": false, "Content-Type: x": false, `"Content-Length:"`: false, "x": false,
	} {
		var p Parser
		members, _ := p.Parse([]byte(line))
		if m := members[0]; (m.Why == NotFramed) != want || want && m.Fault != ParseError {
			t.Errorf("%q: %+v", line, m)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2]}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"x","method":"m"},5,{}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"result":1}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":-0,"id":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		frame := bytes.Clone(in)
		var p Parser
		members, batch := p.Parse(frame)
		if !bytes.Equal(frame, in) {
			t.Fatal("the frame was changed")
		}
		if len(members) == 0 || len(members) > limits.BatchMembers || !batch && len(members) != 1 {
			t.Fatalf("%d members, batch %v", len(members), batch)
		}
		valid := json.Valid(in)
		for _, m := range members {
			if m.Fault == ParseError && batch {
				t.Fatal("a parse error inside a batch that was read")
			}
			if !valid && m.Fault != ParseError && m.Fault != InvalidRequest {
				t.Fatalf("accepted what is not JSON: %q", in)
			}
			if m.ID != nil && !validID(m.ID) {
				t.Fatalf("id %s", m.ID)
			}
			if m.ID != nil && !bytes.Contains(in, m.ID) {
				t.Fatalf("id %s is not in the frame", m.ID)
			}
			if m.Params != nil && (m.Params.Kind() != '{' || !jsontext.Value(m.Params).IsValid(lenient)) && m.Fault == NoFault {
				t.Fatalf("params %s", m.Params)
			}
		}
	})
}

func FuzzID(f *testing.F) {
	for _, s := range []string{`1`, `-0`, `"a"`, `"\u00e4"`, `null`, `1.5`, `1e3`, `[]`, strings.Repeat("5", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !json.Valid([]byte(id)) {
			return
		}
		var p Parser
		members, batch := p.Parse([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`))
		if batch || len(members) != 1 {
			t.Fatal("one message")
		}
		m := members[0]
		if m.Fault != NoFault {
			return
		}
		if string(m.ID) != strings.Trim(id, " \t\r\n") {
			t.Fatalf("id %q became %q", id, m.ID)
		}
		// Not decoded: a number may have more digits than a float64 holds.
		null := string(m.ID) == "null"
		if key := IDKey(m.ID); (key == "") != null {
			t.Fatalf("key %q of %s", key, m.ID)
		}
	})
}
