package browsertest

import "testing"

// asksForNumbers is an agent that works with numbers which JavaScript would change, asks for
// one, and says what it got.
const asksForNumbers = `
[agents.numbers]
kind = "exec"
input = "json"
output = "events"
command = ["sh", "-c", '''
read -r prompt
echo '{"event":"item","content":{"type":"tool_call","title":"Pay","input":{"account":9007199254740993,"limit":1e400,"rate":1.0}}}'
echo '{"event":"item","content":{"type":"extension","native_kind":"receipt","payload":{"account":9007199254740995}}}'
echo '{"event":"question","id":"n","message":"Which account?","schema":{"type":"object","properties":{"account":{"type":"integer","default":9007199254740993},"limit":{"type":"number"}},"required":["account","limit"]}}'
read -r answer
case $answer in
*'"answer":{"account":9007199254740993,"limit":1e400}'*) echo '{"event":"message","text":"got them"}' ;;
*) echo '{"event":"message","text":"got others"}' ;;
esac
''']
`

// A person reads and sends the numbers that were written, in an engine that has JSON.rawJSON.
func TestNumbersKeepTheirSourceText(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, asksForNumbers)
		thread := s.thread("numbers", nil)
		s.turn(thread, "go", nil)
		p := open(t, s, f, "#/thread/"+thread)
		p.sees("section.question", "Which account?")
		p.eval("document.querySelectorAll('details').forEach(d => { d.open = true })")
		p.sees(".tool pre", `"account": 9007199254740993,`)
		p.sees(".tool pre", `"limit": 1e400,`)
		p.sees(".tool pre", `"rate": 1.0`)
		p.sees("main", `"account": 9007199254740995`)
		p.until("document.querySelector('section.question input').value === '9007199254740993'")
		p.write("section.question label:nth-of-type(2) input", "1e400")
		p.press("section.question button", "Answer")
		p.sees("article[data-type=agent_message]", "got them")
		// What a program of the page writes with JSON itself.
		const text = `{"a":[9007199254740993,1e400,"é",-0.0],"é":1.0}`
		got := read[string](p, `import(document.querySelector('link[href$="/client/json.js"]').href).then(m => JSON.stringify(m.parse(`+quote(text)+`)))`)
		if got != text {
			t.Errorf("%s, not %s", got, text)
		}
	})
}
