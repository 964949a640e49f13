package mockmodel

import (
	"strings"
	"testing"
)

var (
	someTools = []tool{{name: "Read"}, {name: "Bash"}, {name: "Write"}, {name: "TodoWrite"}, {name: "AskUserQuestion"}}
	person    = func(texts ...string) message { return message{by: byPerson, texts: texts} }
	model     = message{by: byModel}
	toolEnded = message{by: byTool}
)

func TestWordsChooseTheAnswer(t *testing.T) {
	cases := []struct {
		name         string
		conversation []message
		tools        []tool
		text         string
		call         string
	}{
		{"plain", []message{person("hi")}, someTools, "Hello from the mock model.", ""},
		{"nobody", nil, someTools, "Hello from the mock model.", ""},
		{"no tools are a request on the side", []message{person("TOOL SLOW SAY x")}, nil, "A short answer.", ""},
		{"tool", []message{person("TOOL please")}, someTools, "I will run a command. ", "Bash"},
		{"the word alone counts", []message{person("TOOLS and TOOLING, a tool")}, someTools, "Hello from the mock model.", ""},
		{"tool that is not there", []message{person("TOOL")}, someTools[:1], "Hello from the mock model.", ""},
		{"tool allowed over a restart", []message{person("TOOL"), model, person("The server was restarted while you waited for: run x\ny. The answer: Yes, proceed. Go on.", "TOOL")}, someTools, "I will run a command. ", "Bash"},
		{"tool refused over a restart", []message{person("TOOL"), model, {by: byTool, texts: []string{"The server was restarted while you waited for: run x\ny. The answer: No, and tell Codex. Go on.", "TOOL"}}}, someTools, "I leave it undone.", ""},
		{"environment", []message{person("ENVIRONMENT")}, someTools, "I will run a command. ", "Bash"},
		{"hang", []message{person("HANG")}, someTools, "I will run a long command. ", "Bash"},
		{"write", []message{person("WRITE /a/b.txt now")}, someTools, "I will write a file. ", "Write"},
		{"write without a path", []message{person("WRITE")}, someTools, "Hello from the mock model.", ""},
		{"plan", []message{person("PLAN")}, someTools, "I will make a plan. ", "TodoWrite"},
		{"ask", []message{person("ASK")}, someTools, "I have a question. ", "AskUserQuestion"},
		{"slow", []message{person("SLOW 3 please")}, someTools, "word0 word1 word2 ", ""},
		{"say", []message{person("SAY Äpfel_1, please")}, someTools, "I say Äpfel_1.", ""},
		{"after a tool", []message{person("TOOL"), model, toolEnded}, someTools, "The tool is done.", ""},
		{"text beside the tool's result", []message{person("TOOL"), model, {by: byTool, texts: []string{"SAY more"}}}, someTools, "I say more.", ""},
		{"reminder beside the tool's result", []message{person("TOOL"), model, {by: byTool, texts: []string{"<reminder>"}}}, someTools, "The tool is done.", ""},
		{"a person went on after the tool", []message{person("TOOL"), model, toolEnded, person("SAY more")}, someTools, "I say more.", ""},
		{"only the newest counts", []message{person("TOOL"), model, person("hi")}, someTools, "Hello from the mock model.", ""},
		{"context before the prompt", []message{person("<context>"), person("SAY x")}, someTools, "I say x.", ""},
		{"context after the prompt", []message{person("SAY x", "<context>"), person("<more>")}, someTools, "I say x.", ""},
		{"gone on while the model spoke", []message{person("SLOW"), person("SAY x")}, someTools, "I say x.", ""},
		{"nothing new", []message{person("SAY x"), model}, someTools, "I say x.", ""},
		{"look", []message{{by: byPerson, texts: []string{"LOOK"}, images: 2}}, someTools, "I see 2 images.", ""},
		{"look at the newest only", []message{{by: byPerson, texts: []string{"LOOK"}, images: 2}, model, person("LOOK")}, someTools, "I see 0 images.", ""},
		{"recall", []message{person("SAY one"), model, person("SAY two"), model, person("RECALL")}, someTools, "I remember one, two.", ""},
		{"recall of what is told with it", []message{person("they said: SAY one", "RECALL", "<context>")}, someTools, "I remember one.", ""},
		{"recall of nothing", []message{person("RECALL")}, someTools, "I remember nothing.", ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(tc.conversation, tc.tools).answer()
			call := ""
			if r.call != nil {
				call = r.call.tool.name
			}
			if r.whole() != tc.text || call != tc.call {
				t.Errorf("says %q and calls %q, want %q and %q", r.whole(), call, tc.text, tc.call)
			}
		})
	}
}

func TestSlowIsSlowAndBounded(t *testing.T) {
	for _, tc := range []struct {
		prompt string
		words  int
	}{{"SLOW", slowWords}, {"SLOW 7", 7}, {"SLOW 99999999", slowWords}, {"SLOW 99999999999999999999", slowWords}} {
		r := ask([]message{person(tc.prompt)}, someTools).answer()
		if len(r.text) != tc.words || r.pause != slowly {
			t.Errorf("%s: %d words with pauses of %s", tc.prompt, len(r.text), r.pause)
		}
	}
}

func TestThoughtsComeBeforeTheAnswer(t *testing.T) {
	r := ask([]message{person("THINK, then SAY it")}, someTools).answer()
	if strings.Join(r.thoughts, "") != "Let me think about this." || r.whole() != "I say it." {
		t.Errorf("%+v", r)
	}
}

func TestEveryAgentsToolGetsItsOwnArguments(t *testing.T) {
	cases := []struct {
		prompt, tool string
		freeform     bool
		want         string
	}{
		{"TOOL", "Bash", false, `"command":"echo hello`},
		{"TOOL", "bash", false, `"command":"echo hello`},
		{"TOOL", "run_shell_command", false, `"command":"echo hello`},
		{"TOOL", "exec_command", false, `"cmd":"echo hello`},
		{"TOOL", "exec_command", false, `"sandbox_permissions":"require_escalated"`},
		{"TOOL", "shell_command", false, `"sandbox_permissions":"require_escalated"`},
		{"TOOL", "shell", false, `"command":["bash","-c","echo hello`},
		{"WRITE /a", "Write", false, `"file_path":"/a"`},
		{"WRITE /a", "write", false, `"filePath":"/a"`},
		{"WRITE /a", "write_file", false, `"file_path":"/a"`},
		{"WRITE /a", "exec_command", false, `apply_patch`},
		{"WRITE /a", "apply_patch", false, `"input":"*** Begin Patch\n*** Add File: /a\n+written`},
		{"WRITE /a", "apply_patch", true, "*** Add File: /a\n+written"},
		{"PLAN", "TodoWrite", false, `"activeForm":"do the work"`},
		{"PLAN", "todowrite", false, `"priority":"medium"`},
		{"PLAN", "update_plan", false, `{"plan":[{"status":"completed","step":"look around"}`},
		{"PLAN", "write_todos", false, `"description":"do the work"`},
		{"ASK", "AskUserQuestion", false, `"multiSelect":false`},
		{"ASK", "request_user_input", false, `"id":"colour"`},
		{"ASK", "ask_user", false, `"type":"choice"`},
	}
	for _, tc := range cases {
		t.Run(tc.prompt+" "+tc.tool, func(t *testing.T) {
			r := ask([]message{person(tc.prompt)}, []tool{{name: tc.tool, freeform: tc.freeform}}).answer()
			if r.call == nil {
				t.Fatal("no call")
			}
			got := r.call.input
			if !tc.freeform {
				got = strings.ReplaceAll(r.call.arguments(), `\u0026`, "&")
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s in it", got, tc.want)
			}
		})
	}
}
