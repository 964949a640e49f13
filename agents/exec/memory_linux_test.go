package exec

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/turns"
)

var _ turns.Measured = (*Agent)(nil)

func TestMemoryIsThatOfTheCommandsThatRun(t *testing.T) {
	dir := t.TempDir()
	a := shell(t, `until [ -e end ]; do sleep 0.02; done`, func(c *Config) { c.Cwd = dir })
	if n := a.Memory(); n != 0 {
		t.Errorf("%d bytes without a process", n)
	}
	ended := make(chan turns.Outcome, 1)
	sink := agenttest.NewSink(t)
	go func() { ended <- sink.Run(t.Context(), a, turns.Prompt{}, "go") }()
	n := a.Memory()
	for limit := time.Now().Add(time.Minute); n == 0; n = a.Memory() { // it starts
		if time.Now().After(limit) {
			t.Fatal("a command that runs has no memory")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n > 1<<30 {
		t.Errorf("a command has %d bytes", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; out.State != turns.Completed {
		t.Errorf("%+v", out)
	}
	if n := a.Memory(); n != 0 {
		t.Errorf("%d bytes after the end", n)
	}
}
