package dashboard_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/terminaltest"
)

// hacked is what the sequences would write to the title and, in base64, to the clipboard.
const hacked, hackedBase64 = "HACKED", "SEFDS0VE"

// controls are all control characters but the line feed, and all escape sequences of two
// characters. A dot follows each.
func controls() string {
	var b strings.Builder
	for c := rune(0); c <= 0x9f; c++ {
		if c != '\n' && (c < 0x20 || c >= 0x7f) {
			fmt.Fprintf(&b, "%c.", c)
		}
	}
	for c := ' '; c <= '~'; c++ {
		if !strings.ContainsRune("[]PX^_", c) { // these begin longer ones
			fmt.Fprintf(&b, "\x1b%c.", c)
		}
	}
	return b.String() + "\x1b#8.\x1b(0.\x1b%G.\x1b F."
}

// csis are all control sequences, in both spellings.
func csis() string {
	var b strings.Builder
	for _, begin := range []string{"\x1b[", "\u009b"} {
		for _, params := range []string{"", "2", "3;7", "?1049", "?1000;1006", "?2004", ">4;1", "!", "9 ", "38:2::255:0:0", "999999"} {
			for c := '@'; c <= '~'; c++ {
				fmt.Fprintf(&b, "%s%s%c.", begin, params, c)
			}
		}
	}
	return b.String()
}

// strs are sequences that hold a text, in all spellings, ended and not.
func strs() string {
	var b strings.Builder
	for _, end := range []string{"\a", "\x1b\\", "\u009c"} {
		for _, begin := range []string{"\x1b]", "\u009d"} {
			for _, n := range []int{0, 1, 2, 4, 7, 8, 9, 10, 11, 12, 21, 22, 50, 99, 104, 112, 133, 633, 777, 1337} {
				fmt.Fprintf(&b, "%s%d;%s%s.", begin, n, hacked, end)
			}
			fmt.Fprintf(&b, "%s52;c;%s%s.", begin, hackedBase64, end)
		}
		for _, begin := range []string{"\x1bP", "\u0090", "\x1bX", "\u0098", "\x1b^", "\u009e", "\x1b_", "\u009f"} {
			fmt.Fprintf(&b, "%sq%s%s.", begin, hacked, end)
		}
		fmt.Fprintf(&b, "\x1bPtmux;\x1b\x1b]52;c;%s\a%s.", hackedBase64, end)
	}
	return b.String()
}

// output matches all that the dashboard itself writes besides text: cursor movements, lines
// and characters, colours, the kind of cursor, and the title.
var output = regexp.MustCompile(`\x1b\[[\d;]*[ABCDGHdfJKLMPSTX@` + "`" + `bmr]|\x1b\[\?(25|2026|7)[hl]|\x1b\[[01] q|\x1bM|\x1b\]2;holon( \(\d+\))?(\a|\x1b\\)|[\r\n\x08]`)

// An agent whose texts have every escape sequence changes nothing but text: not in the
// overview, and not on a thread's page.
func TestTextWithEveryEscapeSequenceIsText(t *testing.T) {
	d := newDesk(t, scripted())
	// Where a terminal has tabs, the library moves its cursor with them now and then. On one
	// without (tab3; raw mode expands none either), a tab can only come from a text.
	d.large = terminaltest.Start(t, 200, 60, d.env("data"), "sh", "-c", `stty tab3 && exec "$0"`, d.holon)
	d.large.AwaitText("nothing needs you")
	recorded := d.large.Record()
	one, all := "one "+controls()+strs(), "all "+controls()+csis()+strs()
	d.idle("Torture "+strs(), "echo", "src/docs")
	d.threads["Torture"] = "thread-1"
	d.turn("Torture", "/progress "+one+" progress\n/say "+all+" still here\n/ask "+one+" may I\n/fail "+all+" it fails", nil)
	d.large.AwaitText("1 needs you", "? Torture")
	d.idle("Tools", "scripted", "src/site")
	update, err := json.Marshal(map[string]any{
		"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "title " + one, "kind": "execute", "status": "completed",
		"rawInput": map[string]any{"command": "command " + one},
		"content": []any{
			map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "output " + all + " its end"}},
			map[string]any{"type": "diff", "path": "/tmp/" + strs(), "oldText": "old " + all, "newText": "new " + all},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.turn("Tools", "update "+string(update)+"\nsay done", nil)
	d.large.AwaitText("✓ Tools")
	d.open(d.large, "✓", "Tools")
	d.large.AwaitText("✓ completed")
	d.large.Keys("Space")
	d.large.AwaitText("▾")
	d.open(d.large, "?", "Torture")
	d.large.AwaitText("still here", "may I", "1 Allow")
	d.large.Keys("a")
	d.large.Await("the answer arrives", func(screen string) bool {
		if strings.Contains(screen, "1 Allow") {
			d.large.Keys("1") // the keys are dead for half a second
		}
		return strings.Contains(screen, "r tries it again")
	})
	d.home(d.large)
	d.tops("nothing needs you · 0 working · 1 failed", d.large)
	d.find(d.large, "!", "Torture")

	written := recorded()
	if rest := output.ReplaceAllString(written, ""); strings.ContainsFunc(rest, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
		at := strings.IndexFunc(rest, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 })
		t.Errorf("it writes a control character that is not its own: %q", rest[max(0, at-100):min(len(rest), at+100)])
	}
	if got := d.large.Clipboards(); got != "" {
		t.Errorf("it is on the clipboard: %s", got)
	}
	if !d.large.Alternate() || d.large.Title() != "holon" {
		t.Errorf("alternate screen: %v, title: %q", d.large.Alternate(), d.large.Title())
	}
	if got := d.large.Modes(); !slices.Equal(got, []string{"0", "59", "0", "0", "0", "1"}) {
		t.Errorf("the terminal is in other modes: %v", got)
	}
}
