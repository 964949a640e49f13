package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// typedLines are command lines as a person types them, a word each, and the arguments that
// the program gets at TAB: from fish, which takes quotes away before, and from bash and zsh,
// which leave a word with a substitution or a redirection as it is. The last word is the one at the cursor.
// FILE is made by whatever runs a part of a line.
var typedLines = []struct {
	typed        []string
	fish, others string
}{
	{[]string{"run", `'fix (touch FILE)'`, "--thread", ""}, "run|fix (touch FILE)|--thread|", "run|'fix (touch FILE)'|--thread|"},
	{[]string{"run", `"costs 5 & more; touch FILE"`, ""}, "run|costs 5 & more; touch FILE|", "run|costs 5 & more; touch FILE|"},
	{[]string{"run", `'a > FILE'`, ""}, "run|a > FILE|", "run|'a > FILE'|"},
	{[]string{"run", `'say $(touch FILE)'`, ""}, "run|say $(touch FILE)|", "run|'say $(touch FILE)'|"},
	{[]string{"run", `"say $(touch FILE)"`, ""}, "run|say $(touch FILE)|", `run|"say $(touch FILE)"|`},
	{[]string{"run", "$(touch FILE)", ""}, "run|$(touch FILE)|", "run|$(touch FILE)|"},
	{[]string{"run", "\"say `touch FILE`\"", ""}, "run|say `touch FILE`|", "run|\"say `touch FILE`\"|"},
	{[]string{"run", "<(touch FILE)", ""}, "", "run|<(touch FILE)|"},
	{[]string{"run", `'all of *.nomatch'`, ""}, "run|all of *.nomatch|", "run|all of *.nomatch|"},
	{[]string{"run", `''`, "--thread", ""}, "run||--thread|", "run||--thread|"},
	{[]string{"--data", "~/d", "run", ""}, "--data|HOME/d|run|", "--data|HOME/d|run|"},
	{[]string{"run", `'x'>FILE`, "--thread", ""}, "", "run|'x'>FILE|--thread|"}, // bash takes it for one word
	{[]string{"run", `"do-;>FILE;="`}, "", `run|"do-;>FILE;="|`},
	{[]string{"--data", `"my data"`, "run", ""}, "--data|my data|run|", "--data|my data|run|"},
}

// TAB runs nothing of what is typed, in quotes or not, and asks the program for every line.
func TestTheShellRunsNothingThatIsTypedAtTab(t *testing.T) {
	for _, tc := range []struct {
		shell string
		args  []string
		// prepare makes the functions of the script callable, complete calls them for words.
		prepare  string
		complete func(words []string) string
		want     func(i int) string
	}{
		{
			shell: "fish", args: []string{"--no-config"},
			complete: func(words []string) string {
				line := "holon " + strings.Join(words, " ")
				return `complete -C '` + strings.ReplaceAll(strings.ReplaceAll(line, `\`, `\\`), "'", `\'`) + "'\n"
			},
			want: func(i int) string { return typedLines[i].fish },
		},
		{
			shell: "bash", args: []string{"--norc", "--noprofile"},
			prepare: "complete() { :; }\n",
			complete: func(words []string) string {
				return "words=(holon " + singleQuoted(words) + ") cur=\ncur=${words[-1]}\n__holon_get_completion_results\n"
			},
			want: func(i int) string { return typedLines[i].others },
		},
		{
			shell: "zsh", args: []string{"-f"},
			prepare: "compdef() { :; }\n_describe() { return 1; }\n_arguments() { return 1; }\n",
			complete: func(words []string) string {
				return "words=(holon " + singleQuoted(words) + ") CURRENT=$#words\n_holon\n"
			},
			want: func(i int) string { return typedLines[i].others },
		},
	} {
		t.Run(tc.shell, func(t *testing.T) {
			program, err := exec.LookPath(tc.shell)
			if err != nil {
				hosttest.Need(t, tc.shell+" is not installed")
			}
			dir := t.TempDir()
			write := func(name, text string, mode os.FileMode) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
				return path
			}
			printed := holon(t, freshDir(t), "", "completion", tc.shell)
			if printed.code != exitOK {
				t.Fatal(printed.err)
			}
			// It stands for the program: it notes its arguments and completes nothing.
			write("holon", "#!/bin/sh\nshift\nfor a; do printf '%s|' \"$a\"; done >>\"$NOTES\"\necho >>\"$NOTES\"\necho :4\n", 0o755)
			file, notes := filepath.Join(dir, "ran"), filepath.Join(dir, "notes")
			script := tc.prepare + "source " + write("script", printed.out, 0o600) + "\n"
			for _, line := range typedLines {
				script += tc.complete(strings.Split(strings.ReplaceAll(strings.Join(line.typed, "\x00"), "FILE", file), "\x00"))
			}
			cmd := exec.Command(program, append(tc.args, write("typed", script, 0o600))...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "NOTES="+notes, "HOME=/home/of me")
			out, err := cmd.CombinedOutput()
			t.Logf("%v %s", err, out)

			if _, err := os.Stat(file); err == nil {
				t.Error("something that was typed was run")
			}
			noted, err := os.ReadFile(notes)
			if err != nil {
				t.Fatal(err)
			}
			asked := slices.DeleteFunc(strings.Split(string(noted), "\n"), func(l string) bool { return l == "" })
			if len(asked) != len(typedLines) {
				t.Fatalf("the program was asked for %d lines, want %d:\n%s", len(asked), len(typedLines), noted)
			}
			for i, got := range asked {
				want := strings.NewReplacer("FILE", file, "HOME", "/home/of me").Replace(tc.want(i))
				if typed := typedLines[i].typed; typed[len(typed)-1] == "" && want != "" {
					want += "|"
				}
				if want != "" && got != want {
					t.Errorf("%q: the program was given %q, want %q", typedLines[i].typed, got, want)
				}
			}
		})
	}
}

// singleQuoted are words that a shell reads as they are here.
func singleQuoted(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// evaluations are the places of a script that evaluate something.
var evaluations = regexp.MustCompile(`(?m)^[^#"\n]*\beval .*$`)

// The scripts are cobra's but for the lines that are changed. Another version of cobra may
// evaluate in another place: then this says so, and the command prints no script.
func TestCompletionScriptsHaveTheirForm(t *testing.T) {
	for shell, want := range map[string]string{
		"fish": "    set -l results (eval $requestComp 2> /dev/null)",
		"bash": `    out=$(eval "${requestComp}" 2>/dev/null)`,
		"zsh": "    out=$(eval ${requestComp} 2>/dev/null)\n" +
			`        if eval _describe $keepOrder "completions" completions $flagPrefix $noSpace; then`,
	} {
		for _, descriptions := range []bool{true, false} {
			var made strings.Builder
			script := completionScripts[shell]
			if err := script.generate(newRootCommand(&globals{}), &made, descriptions); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(evaluations.FindAllString(made.String(), -1), "\n"); got != want {
				t.Errorf("cobra's script for %s evaluates other things than those that were looked at:\n%s", shell, got)
			}
			ours := made.String()
			for _, change := range script.changes {
				ours = strings.Replace(ours, change.old, change.new, 1)
			}
			args := []string{"completion", shell}
			if !descriptions {
				args = append(args, "--no-descriptions")
			}
			if r := holon(t, freshDir(t), "", args...); r.code != exitOK || r.out != ours || ours == made.String() {
				t.Errorf("holon %q: exit %d, %s, and another script", args, r.code, r.err)
			}
		}
	}
	other := completionScripts["fish"]
	other.changes = []scriptChange{{"set -l args (commandline --tokens-expanded)\n", ""}}
	var out strings.Builder
	if err := other.write(newRootCommand(&globals{}), &out, true); err == nil || out.String() != "" {
		t.Errorf("a script of another form: %v, and %d bytes were printed", err, out.Len())
	}
}

// A shell whose script may run what was typed gets none.
func TestOnlyShellsWithASafeScriptHaveOne(t *testing.T) {
	root := newRootCommand(&globals{})
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		t.Fatal(err)
	}
	var shells []string
	for _, c := range completion.Commands() {
		shells = append(shells, c.Name())
	}
	if slices.Sort(shells); !slices.Equal(shells, []string{"bash", "fish", "zsh"}) {
		t.Errorf("there are scripts for %q", shells)
	}
}
