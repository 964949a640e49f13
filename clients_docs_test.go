package holon_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The programs of docs/clients.md are those that are tested, word for word, and short.
func TestTheProgramsOfTheClientsPage(t *testing.T) {
	page, err := os.ReadFile("docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, file := range map[string]string{"go": "client.go", "js": "client.mjs", "python": "client.py", "bash": "client.sh"} {
		program, err := os.ReadFile("docs/examples/clients/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "\n```"+language+"\n"+string(program)+"```\n") {
			t.Errorf("docs/clients.md does not have docs/examples/clients/%s as it is", file)
		}
		if n := linesOfCode(string(program)); n > 30 {
			t.Errorf("%s has %d lines of code, the page promises 30", file, n)
		}
	}
}

var (
	imports  = regexp.MustCompile(`(?s)import \(.*?\n\)`)
	docText  = regexp.MustCompile(`(?s)""".*?"""`)
	noCode   = regexp.MustCompile(`^((#|//|package |import |from ).*)?$`)
	endsOnly = regexp.MustCompile(`^([\])};,]+|esac|fi|done)$`)
)

// linesOfCode leaves out comments, imports and the ends of blocks.
func linesOfCode(program string) (n int) {
	for line := range strings.Lines(docText.ReplaceAllString(imports.ReplaceAllString(program, ""), "")) {
		if line = strings.TrimSpace(line); !noCode.MatchString(line) && !endsOnly.MatchString(line) {
			n++
		}
	}
	return n
}
