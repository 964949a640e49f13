package worktree

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// State is what is known of a directory. Branch is the beginning of the commit's hash if
// no branch is checked out. Added and Removed count lines of files that git tracks. New
// counts files that it neither tracks nor ignores, and directories that have only such, as
// git status lists them.
type State struct {
	Branch  string `json:"branch"`
	Added   int64  `json:"added"`
	Removed int64  `json:"removed"`
	New     int64  `json:"new,omitzero"`
}

// The bounds of a Cache.
const (
	MaxDirectories = 64              // that are known
	maxProcesses   = 2               // at once
	interval       = 3 * time.Second // between two refreshes of a directory, at least
	share          = 20              // a refresh that took long is repeated after this many times as long
)

// Cache knows directories. Get may be called from many goroutines. The nil Cache knows
// none.
type Cache struct {
	git     string // the program; "" = this machine has none
	own     string // a git directory of our own, without a repository; see prepare
	maxTime time.Duration
	readDir func(ctx context.Context, dir string) (*State, error) // read, but for tests

	mu     sync.Mutex
	dirs   map[string]*entry
	counts Counts
	due    chan string // directories to refresh; each is in it once, so that it never is full
}

// entry is what is known of a directory. Its fields belong to the Cache's mu.
type entry struct {
	state *State // nil = it has not been read, or is in no repository, or could not be read
	asked time.Time
	next  time.Time // when it may be read again
	busy  bool      // it is in due, or is being read
}

// Counts say how well a Cache does. Hits and Misses are since it was made.
type Counts struct {
	Hits    int // what is known was new enough
	Misses  int // the directory had to be read first, or again
	Entries int // directories that are known
}

// Counts returns what the Cache has done; a nil one has done nothing.
func (c *Cache) Counts() Counts {
	if c == nil {
		return Counts{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.counts
	n.Entries = len(c.dirs)
	return n
}

// New makes a cache, which keeps an empty git directory at own. It starts nothing.
func New(own string) *Cache {
	c := &Cache{own: own, maxTime: maxTime, dirs: map[string]*entry{}, due: make(chan string, MaxDirectories)}
	c.readDir = c.read
	if path, err := exec.LookPath("git"); err == nil && filepath.IsAbs(path) {
		c.git = path
	}
	return c
}

// Get returns what is known of a directory, nil if that is nothing. If it is older than
// interval, it is read again in the background.
func (c *Cache) Get(dir string) *State {
	if c == nil || c.git == "" || !filepath.IsAbs(dir) {
		return nil
	}
	dir = filepath.Clean(dir)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.dirs[dir]
	if e == nil {
		if !c.room() {
			c.counts.Misses++
			return nil
		}
		e = &entry{}
		c.dirs[dir] = e
	}
	e.asked = now
	if now.Before(e.next) {
		c.counts.Hits++
	} else {
		c.counts.Misses++
	}
	if !e.busy && !now.Before(e.next) {
		e.busy = true
		c.due <- dir
	}
	return e.state
}

// Peek returns what is known of a directory, and leaves it at that: it is not read because
// of this.
func (c *Cache) Peek(dir string) *State {
	if c == nil || !filepath.IsAbs(dir) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.dirs[filepath.Clean(dir)]; e != nil {
		return e.state
	}
	return nil
}

// room makes room for one more directory: it forgets the one that nobody has asked for
// for the longest time. There is none if all are being read.
func (c *Cache) room() bool {
	if len(c.dirs) < MaxDirectories {
		return true
	}
	oldest := ""
	for dir, e := range c.dirs {
		if !e.busy && (oldest == "" || e.asked.Before(c.dirs[oldest].asked)) {
			oldest = dir
		}
	}
	delete(c.dirs, oldest)
	return oldest != ""
}

// Run reads directories until ctx ends. Then it ends the processes and returns nil. It
// may be called once. An error says that it cannot begin; nothing is known then.
func (c *Cache) Run(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range maxProcesses {
		workers.Go(func() { c.work(ctx) })
	}
	workers.Wait()
	return nil
}

func (c *Cache) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case dir := <-c.due:
			began := time.Now()
			state, _ := c.readDir(ctx, dir) // whatever the reason, nothing is known
			c.keep(dir, state, time.Since(began))
		}
	}
}

func (c *Cache) keep(dir string, state *State, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.dirs[dir] // a busy entry is not forgotten
	e.state, e.busy, e.next = state, false, time.Now().Add(max(interval, share*took))
}
