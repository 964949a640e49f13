package timeline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// parse reads an event from its method and the members of its params.
func parse(t *testing.T, method, members string, args ...any) client.Event {
	t.Helper()
	event, err := client.ParseEvent([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + fmt.Sprintf(members, args...) + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// twoTalk are two threads whose agents speak at the same time.
func twoTalk(t *testing.T) []client.Event {
	t.Helper()
	all := []client.Event{parse(t, "thread/started", `"seq":1,"thread_id":"thread_aaaaaaaa11111111","agent":"echo","title":"日本語 \u001b[31mwork\u202e"`)}
	for i, thread := range []string{"thread_aaaaaaaa11111111", "thread_bbbbbbbb22222222"} {
		all = append(all, parse(t, "item/created", `"seq":%d,"thread_id":%q,"turn_id":"turn_%d","item_id":"item_%d","status":"in_progress","content":{"type":"agent_message","content":[]}`, 2+i, thread, i, i))
	}
	for i, text := range []string{"one ", "uno ", "line,", "dos\\nsecond ", "and\\n", "end", "last"} {
		thread := []string{"thread_aaaaaaaa11111111", "thread_bbbbbbbb22222222"}[i%2]
		all = append(all, parse(t, "item/delta", `"seq":%d,"thread_id":%q,"turn_id":"turn_%d","item_id":"item_%d","offset":%d,"delta":{"text":"%s"}`, 4+i, thread, i%2, i%2, 100*i, text))
	}
	return all
}

func TestThreadsKeepTheirLinesWhole(t *testing.T) {
	asked := 0
	options := Options{
		Threads: true, Now: clock, Width: func() int { return 60 },
		Short: func(id string) string { return id[len(id)-8:] },
		Title: func(id string) string {
			asked++
			return map[string]string{"thread_bbbbbbbb22222222": "other \x1b]0;x\a" + strings.Repeat("w", 50)}[id]
		},
	}
	const title = "22222222 other wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww…"
	for _, tc := range []struct {
		terminal bool
		want     string
	}{
		{true, "── 11111111 日本語 work\ufffd\n● 11111111 started with agent echo: 日本語 work\ufffd\n" +
			"── " + title + "\n◆ uno dos\n" +
			"── 11111111 日本語 work\ufffd\n◆ one line,and\n  last\n" +
			"── " + title + "\n◆ second end\n"},
		{false, "[11111111 日本語 work\ufffd] thread: 11111111 started with agent echo: 日本語 work\ufffd\n" +
			"[" + title + "] agent: uno dos\n[11111111 日本語 work\ufffd] agent: one line,and\n" +
			"[11111111 日本語 work\ufffd] agent: last\n[" + title + "] agent: second end\n"},
	} {
		asked = 0
		s, plain := &screen{t: t, width: 60}, &bytes.Buffer{}
		options.Terminal = tc.terminal
		r := New(plain, options)
		if tc.terminal {
			r = New(s, options)
		}
		play(t, r, twoTalk(t), 1)
		got := plain.String()
		if tc.terminal {
			got = s.String()
		}
		if got != tc.want {
			t.Errorf("terminal %t: got\n%s\nwant\n%s", tc.terminal, got, tc.want)
		}
		if asked != 1 {
			t.Errorf("terminal %t: %d titles were asked for", tc.terminal, asked)
		}
	}
}

func TestALineWithoutAnEndIsNotHeldForEver(t *testing.T) {
	s := &screen{t: t, width: 60}
	r := New(s, Options{Terminal: true, Threads: true, Now: clock, Width: func() int { return 60 }})
	all := twoTalk(t)[:3]
	text := strings.Repeat("word ", maxHeld/5+2)
	all = append(all, parse(t, "item/delta", `"seq":9,"thread_id":"thread_aaaaaaaa11111111","turn_id":"turn_0","item_id":"item_0","offset":0,"delta":{"text":%q}`, text+"cu"))
	for _, event := range all {
		if err := r.Event(event); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(s.String(), "word"); n != maxHeld/5+2 {
		t.Errorf("%d words are shown", n)
	}
	if strings.Contains(s.String(), "cu") {
		t.Error("half a word is shown")
	}
	if err := r.Close(); err != nil || !strings.Contains(s.String(), "cu") {
		t.Errorf("the rest never came: %v", err)
	}
}

func TestTheTitlesThatAreRememberedHaveABound(t *testing.T) {
	r := New(&bytes.Buffer{}, Options{Threads: true, Title: func(string) string { return "x" }})
	for i := range 2 * maxTitles {
		r.threadName(fmt.Sprint(i))
	}
	if len(r.titles) > maxTitles {
		t.Errorf("%d titles", len(r.titles))
	}
}

// An agent may go on with a message after it has done or asked something.
func TestWhatAnAgentSaysIsShownBeforeWhatItDoes(t *testing.T) {
	item := func(method string, seq int, id, members string) client.Event {
		return parse(t, method, `"seq":%d,"thread_id":"thread_a","turn_id":"turn_1","item_id":"%s",%s`, seq, id, members)
	}
	events := []client.Event{
		item("item/created", 1, "item_1", `"status":"in_progress","content":{"type":"agent_message","content":[{"type":"output_text","text":"I will "}]}`),
		item("item/delta", 2, "item_1", `"offset":7,"delta":{"text":"look"}`),
		item("item/created", 3, "item_2", `"status":"completed","content":{"type":"notice","severity":"warning","message":"Slow."}`),
		item("item/delta", 4, "item_1", `"offset":11,"delta":{"text":" there."}`),
		item("item/created", 5, "item_3", `"status":"completed","content":{"type":"tool_call","title":"Read a","kind":"read"}`),
		item("item/delta", 6, "item_1", `"offset":18,"delta":{"text":" Found."}`),
		item("item/updated", 7, "item_1", `"status":"completed","content":{"type":"agent_message","content":[{"type":"output_text","text":"I will look there. Found."}]}`),
	}
	for threads, want := range map[bool]string{
		false: "warning: Slow.\nagent: I will look there.\ntool: Read a\nagent: Found.\n",
		true:  "[thread_a] warning: Slow.\n[thread_a] agent: I will look there.\n[thread_a] tool: Read a\n[thread_a] agent: Found.\n",
	} {
		var out bytes.Buffer
		r := New(&out, Options{Threads: threads, Now: clock})
		for _, e := range events {
			if err := r.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != want {
			t.Errorf("threads %v:\n%s\nwant\n%s", threads, got, want)
		}
	}
	s := &screen{t: t, width: 60}
	r := New(s, Options{Terminal: true, Threads: true, Now: clock, Width: func() int { return 60 }})
	for _, e := range events {
		if err := r.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.String(); !strings.Contains(got, "◆ I will look there.\n") || strings.Index(got, "there.") > strings.Index(got, "Read a") {
		t.Errorf("on a terminal:\n%s", got)
	}
}
