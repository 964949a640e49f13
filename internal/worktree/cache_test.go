package worktree

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// played is a cache whose directories a test reads, in a bubble.
type played struct {
	*Cache
	mu    sync.Mutex
	reads map[string]int
	now   int // reads that are under way
	most  int
	takes time.Duration
}

func play(t *testing.T, f func(p *played)) {
	t.Helper()
	own := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := &played{Cache: New(own), reads: map[string]int{}}
		p.git, p.readDir = "git", p.read
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		f(p)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (p *played) read(ctx context.Context, dir string) (*State, error) {
	p.mu.Lock()
	p.reads[dir]++
	n := p.reads[dir]
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
	if dir == "/none" {
		return nil, errNoRepository
	}
	return &State{Branch: dir, Added: int64(n)}, ctx.Err()
}

func (p *played) count(dir string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads[dir]
}

func TestGetReturnsWhatIsKnownAndRefreshesIt(t *testing.T) {
	play(t, func(p *played) {
		for _, dir := range []string{"", "relative", "."} {
			if s := p.Get(dir); s != nil {
				t.Errorf("%q: %+v", dir, s)
			}
		}
		if s := p.Get("/a/"); s != nil {
			t.Errorf("%+v", s)
		}
		p.Get("/none")
		synctest.Wait()
		for range 5 {
			if s := p.Get("/a"); s == nil || *s != (State{Branch: "/a", Added: 1}) {
				t.Fatalf("%+v", s)
			}
			if s := p.Get("/none"); s != nil {
				t.Fatalf("%+v", s)
			}
			time.Sleep(interval / 10)
		}
		if n := p.count("/a") + p.count("/none"); n != 2 {
			t.Errorf("%d reads", n)
		}
		time.Sleep(interval)
		if s := p.Get("/a"); s.Added != 1 {
			t.Errorf("a request waited for %+v", s)
		}
		synctest.Wait()
		if s := p.Get("/a"); s.Added != 2 {
			t.Errorf("%+v", s)
		}
		if n := p.count("/none"); n != 1 {
			t.Errorf("%d reads of what nobody asks for", n)
		}
	})
}

func TestPeekReadsNothing(t *testing.T) {
	play(t, func(p *played) {
		for _, dir := range []string{"", "relative", "/a"} {
			if s := p.Peek(dir); s != nil {
				t.Errorf("%q: %+v", dir, s)
			}
		}
		synctest.Wait()
		p.Get("/a")
		synctest.Wait()
		time.Sleep(10 * interval)
		if s := p.Peek("/a/"); s == nil || s.Branch != "/a" {
			t.Errorf("%+v", s)
		}
		synctest.Wait()
		if n := p.count("/a"); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
	if s := (*Cache)(nil).Peek("/a"); s != nil {
		t.Errorf("%+v", s)
	}
}

func TestSlowDirectoriesAreReadLessOften(t *testing.T) {
	play(t, func(p *played) {
		p.takes = 4 * time.Second
		p.Get("/a")
		time.Sleep(p.takes)
		for range 81 {
			p.Get("/a")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := p.count("/a"); n != 2 { // the second after 80 s
			t.Errorf("%d reads", n)
		}
	})
}

func TestReadsAndDirectoriesAreBounded(t *testing.T) {
	play(t, func(p *played) {
		p.takes = time.Second
		for i := range 3 * MaxDirectories {
			p.Get(fmt.Sprint("/", i)) // those above the bound find no room: all are being read
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if p.most != maxProcesses || len(p.dirs) != MaxDirectories || len(p.reads) != MaxDirectories {
			t.Errorf("%d at once, %d known, %d read", p.most, len(p.dirs), len(p.reads))
		}
		p.Get("/0")
		time.Sleep(time.Hour)
		p.Get("/new")
		time.Sleep(time.Hour)
		if p.Get("/new") == nil || p.Get("/0") == nil || len(p.dirs) != MaxDirectories {
			t.Errorf("%d known", len(p.dirs))
		}
	})
}

func TestMachineWithoutGitKnowsNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := New(t.TempDir())
	if s := c.Get("/a"); s != nil || len(c.dirs) != 0 {
		t.Errorf("%+v, %d directories", s, len(c.dirs))
	}
	if s := (*Cache)(nil).Get("/a"); s != nil {
		t.Errorf("%+v", s)
	}
}

func TestCountsSayHowWellItDoes(t *testing.T) {
	play(t, func(p *played) {
		p.takes = time.Millisecond // so that it is not read while the test goes on
		read := func() {
			time.Sleep(p.takes)
			synctest.Wait()
		}
		same := func(when string, want Counts) {
			t.Helper()
			if got := p.Counts(); got != want {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		same("at the start", Counts{})
		p.Get("relative")
		p.Get("/a")
		p.Get("/a") // it is being read
		same("before it is read", Counts{Misses: 2, Entries: 1})
		read()
		p.Get("/a")
		p.Get("/b")
		read()
		p.Get("/b")
		same("while it is new", Counts{Hits: 2, Misses: 3, Entries: 2})
		time.Sleep(interval)
		p.Get("/a")
		same("when it is old", Counts{Hits: 2, Misses: 4, Entries: 2})
		var none *Cache
		if got := none.Counts(); got != (Counts{}) {
			t.Errorf("no cache: %+v", got)
		}
	})
}
