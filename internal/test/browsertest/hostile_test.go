package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are messages that would do something to a page that trusts them.
func hostile() (all []string) {
	all = []string{
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe src=javascript:alert(1)></iframe>",
		"<style>body{display:none}</style>", "<base href=https://evil.example/>", "<meta http-equiv=refresh content=0;url=https://evil.example>",
		"<form action=https://evil.example><button>Allow</button></form>", "<a href=\"javascript:alert(1)\">x</a>", "</article></div></main><h1>mine</h1>", "<!-- -->", "<![CDATA[x]]>",
		"[x](javascript:alert(1))", "[x](data:text/html,<script>alert(1)</script>)", "[x](vbscript:x)", "[x](JaVaScRiPt:alert(1))", "[x](\x01javascript:alert(1))",
		"[x](java\tscript:alert(1))", "[x](file:///etc/passwd)", "[x](/rpc)", "[x](//evil.example)", "[x](blob:x)", "[x](<javascript:alert(1)>)", "![x](https://evil.example/x.png)",
		"[x]: javascript:alert(1)\n\n[x]", "<javascript:alert(1)>", "<https://example.com/\"onmouseover=alert(1)>", "https://example.com/<script>", "javascript:alert(1)",
		"&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;", "&#0;&#1114112;&#x1F600;", "${alert(1)}", "{{constructor.constructor('alert(1)')()}}", "__proto__", "constructor",
		"\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07", "a\x00b", "a\u202eb", "a\u2066b\u2069", "\ufeffx", "a\u200bb\u200dc", "\u0085\u2028\u2029", "\ud7ff\ue000\uffff", strings.Repeat("a\u0301", 5000), "\r\nx\rx",
		strings.Repeat("*", 20000), strings.Repeat("_a", 20000), strings.Repeat("[", 20000), strings.Repeat("![", 10000), strings.Repeat("`", 20001), strings.Repeat("> ", 10000) + "x", strings.Repeat("- ", 10000) + "x",
		strings.Repeat("<", 20000), strings.Repeat("<a ", 10000), strings.Repeat("|", 20000) + "\n" + strings.Repeat("|-", 10000), strings.Repeat("| a ", 5000) + "|\n" + strings.Repeat("|-", 5000) + "|",
		strings.Repeat("[a](", 10000), strings.Repeat("[a][", 10000), strings.Repeat("a **", 10000), strings.Repeat("#", 20000), strings.Repeat("1. ", 10000) + "x", strings.Repeat("\n", 20000) + "x", strings.Repeat(" ", 20000) + "x",
		strings.Repeat("~~~\n", 10000), strings.Repeat("a\n===\n", 5000), strings.Repeat("&amp;", 10000), strings.Repeat("\\", 20001), strings.Repeat("x", 60000), strings.Repeat("x ", 30000), strings.Repeat("W", 3000),
	}
	wraps := []string{"%s", "# %s", "> %s", "- %s", "1. %s", "**%s**", "`%s`", "```\n%s\n```", "| a |\n|---|\n| %s |", "[%[1]s](%[1]s)", "![%[1]s](%[1]s)", "text %s text", "<div>%s</div>"}
	for n, short := 0, len(all); len(all) < 499; n++ {
		one := all[n%short]
		if len(one) > 200 {
			continue
		}
		all = append(all, fmt.Sprintf(wraps[1+(n/short)%(len(wraps)-1)], one))
	}
	return all
}

// 500 messages that would do something in a page that trusts them are text: nothing runs,
// nothing is loaded, no element comes of them that Markdown has not, and the policy, which
// would stop it, has nothing to stop.
func TestHostileMessagesAreText(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		// The page may take as long as it likes: nothing renews the lease meanwhile.
		s := serve(t, "[agents.worker]\nkind = \"worker\"\nlease_seconds = 86400\n", "--max-item-bytes", fmt.Sprint(12<<20), "--max-frame-bytes", fmt.Sprint(32<<20))
		thread := s.thread("worker", object{"title": "<img src=x onerror=alert(1)> \u202eevil"})
		s.turn(thread, "<script>alert(1)</script> [x](javascript:alert(1))", nil)
		lease := s.call("turn/claim", object{"agent": "worker"})["lease"]
		p := open(t, s, f, "#/thread/"+thread)
		p.eval("look.watchElements()")
		messages := hostile()
		batch := []object{}
		flush := func() {
			s.call("item/batch", object{"lease": lease, "ops": batch})
			batch = batch[:0]
			p.untilSeq()
		}
		for i, text := range messages {
			text = strings.ToValidUTF8(text, "\ufffd")
			batch = append(batch, object{"op": "create", "status": "completed", "content": message(text)})
			if len(batch) == 50 || i == len(messages)-1 {
				flush()
			}
			if i == 49 {
				for _, tag := range messages[:10] {
					p.sees("article[data-type=agent_message]", tag)
				}
			}
		}
		s.call("item/create", object{"lease": lease, "item_id": "large", "content": message("")})
		for range 10 { // 10 MB
			s.call("item/append", object{"lease": lease, "item_id": "large", "text": strings.Repeat("<b>large</b> ", 1_000_000/13)})
		}
		p.untilSeq()
		s.call("item/update", object{"lease": lease, "item_id": "large", "status": "completed"})
		s.call("turn/complete", object{"lease": lease})
		p.sees(".end", "Done")
		if strange := read[[]string](p, "look.strange()"); len(strange) > 0 {
			t.Errorf("elements that no message may make: %q", strange)
		}
		if rows := read[int](p, "document.querySelectorAll('.row').length"); rows > 200 {
			t.Errorf("%d rows", rows)
		}
		p.exact()
		p.noWiderThanTheScreen()
		p.goTo("#/")
		p.sees("li.card", "<img src=x onerror=alert(1)>")
		if title := p.text("li.card .title"); strings.Contains(title, "\u202e") {
			t.Errorf("a title turns what follows it around: %q", title)
		}
	}, phoneDark)
}

func message(text string) object {
	return object{"type": "agent_message", "role": "assistant", "content": []object{{"type": "output_text", "text": text}}}
}
