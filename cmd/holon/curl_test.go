package main

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// The commands with curl of docs/clients.md do what the page says, word for word: what a
// watcher has missed comes once and in order, also over the death of the server. They
// leave no file behind.
func TestCurlCommandsOfTheClientsPageWork(t *testing.T) {
	for _, name := range []string{"bash", "curl"} {
		if _, err := osexec.LookPath(name); err != nil {
			hosttest.Need(t, name+" is not installed, so the commands of docs/clients.md are not run")
		}
	}
	blocks := blocksOf(t, "../../docs/clients.md", "Sixty seconds with curl")
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), "")
	here, state := t.TempDir(), t.TempDir()
	if err := os.Symlink(s.data, filepath.Join(state, "holon")); err != nil {
		t.Fatal(err)
	}
	const address = "url=http://127.0.0.1:8080 "
	if !strings.HasPrefix(blocks[0], address) {
		t.Fatalf("the commands do not begin with %q", address)
	}
	blocks[0] = "cd '" + here + "' && url=" + s.url + " " + strings.TrimPrefix(blocks[0], address)
	again := filepath.Join(t.TempDir(), "again")
	last := len(blocks) - 1
	blocks[last] = fmt.Sprintf("echo @@dead\nuntil [ -e '%s' ]; do sleep 0.05; done\necho @@again\n%s", again, blocks[last])
	p := startProcess(t, []string{"XDG_STATE_HOME=" + state, "TMPDIR=" + here, "NO_PROXY=*"}, "bash", "-c", "set -e\n"+strings.Join(blocks, "\n"))

	eventually(t, "the server is killed", func() bool { return strings.Contains(p.output.String(), "@@dead") })
	<-s.process.exited
	s.up()
	if err := os.WriteFile(again, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const end = `"method":"turn/completed"`
	eventually(t, "what was missed is seen", func() bool {
		_, missed, _ := strings.Cut(p.output.String(), "@@again")
		return strings.Contains(missed, end) && strings.Contains(missed, "said while you were away")
	})
	p.kill()
	seen, missed, _ := strings.Cut(p.output.String(), "@@again")
	if !strings.Contains(seen, "hello, log") || !strings.Contains(seen, end) || strings.Contains(missed, "hello, log") {
		t.Errorf("the first stream:\n%s\nthe second one:\n%s", seen, missed)
	}
	var seqs []string
	for _, m := range regexp.MustCompile(`(?m)"params":\{"seq":(\d+)`).FindAllStringSubmatch(seen+missed, -1) {
		seqs = append(seqs, m[1])
	}
	if len(seqs) < 8 || !slices.Equal(seqs, oneAfterTheOther(len(seqs))) {
		t.Errorf("the events that were seen are %v", seqs)
	}
	if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
		t.Errorf("they leave behind %v, %v", left, err)
	}
}

// oneAfterTheOther are the numbers from 1 to n.
func oneAfterTheOther(n int) (numbers []string) {
	for i := range n {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	return numbers
}

// blocksOf are the commands of a section of a document, block by block.
func blocksOf(t *testing.T, file, title string) (blocks []string) {
	t.Helper()
	for _, f := range fencesOf(t, file) {
		if f.section == title && f.language == "sh" {
			blocks = append(blocks, f.text)
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no section %q with commands", file, title)
	}
	return blocks
}

// fenced is a block of a document: its section, its language ("" = what a command prints), and
// its lines.
type fenced struct{ section, language, text string }

var fencesAndSections = regexp.MustCompile("(?ms)^## ([^\n]*)$|^```([a-z]*)\n(.*?)^```$")

// fencesOf are the blocks of a document. Those in lists are not among them.
func fencesOf(t *testing.T, file string) (list []fenced) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var section string
	for _, m := range fencesAndSections.FindAllStringSubmatch(string(page), -1) {
		if m[1] != "" {
			section = m[1]
		} else {
			list = append(list, fenced{section, m[2], m[3]})
		}
	}
	return list
}
