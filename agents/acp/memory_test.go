package acp

import (
	"runtime"
	"testing"
)

func TestMemoryIsThatOfTheProcessesThatRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: memory is read from /proc, which only Linux has")
	}
	r := bad(t, "state="+t.TempDir()+"/s", apart(2))
	if n := r.Memory(); n != 0 {
		t.Errorf("%d bytes without a process", n)
	}
	r.thread("a").run("say one")
	one := r.Memory()
	if one < 1<<20 || one > 1<<30 {
		t.Errorf("a process has %d bytes", one)
	}
	if again := r.Memory(); again != one {
		t.Errorf("it was measured again at once: %d, then %d bytes", one, again)
	}
	r.thread("b").run("say two")
	if two := r.Memory(); two <= one {
		t.Errorf("%d bytes with a second process, %d before", two, one)
	}
	r.stop()
	if n := r.Memory(); n != 0 {
		t.Errorf("%d bytes after the end", n)
	}
}
