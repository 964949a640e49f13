package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal with the dashboard at its far end.
type terminal struct {
	master *os.File
	cmd    *exec.Cmd

	mu     sync.Mutex
	recent []byte // the end of what was drawn
	last   time.Time
	frames int
	bytes  int
	more   chan struct{} // something was drawn
}

// The renderer brackets each frame with these where the terminal says that it knows
// them (synchronized output, mode 2026). This terminal says so.
var (
	frameBegins = []byte("\x1b[?2026h")
	askedSync   = []byte("\x1b[?2026$p")
	knowsSync   = []byte("\x1b[?2026;2$y")
)

// open starts a command on a terminal.
func open(ctx context.Context, columns, rows uint16, dir string, env []string, path string, args ...string) (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer far.Close()
	if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		return nil, err
	}
	t := &terminal{master: master, more: make(chan struct{}, 1)}
	t.cmd = exec.CommandContext(ctx, path, args...)
	t.cmd.Dir, t.cmd.Env = dir, env
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = far, far, far
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go t.read()
	return t, nil
}

func (t *terminal) read() {
	chunk := make([]byte, 64<<10)
	for {
		n, err := t.master.Read(chunk)
		if err != nil {
			return // EIO once the far end is closed
		}
		t.mu.Lock()
		t.last, t.bytes = time.Now(), t.bytes+n
		t.frames += bytes.Count(chunk[:n], frameBegins)
		if bytes.Contains(chunk[:n], askedSync) {
			_, _ = t.master.Write(knowsSync)
		}
		if t.recent = append(t.recent, chunk[:n]...); len(t.recent) > 1<<20 {
			t.recent = t.recent[len(t.recent)-1<<20:]
		}
		t.mu.Unlock()
		select {
		case t.more <- struct{}{}:
		default:
		}
	}
}

// has waits until a text was drawn.
func (t *terminal) has(ctx context.Context, text string) error {
	for {
		t.mu.Lock()
		found := bytes.Contains(t.recent, []byte(text))
		t.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-t.more:
		case <-ctx.Done():
			return fmt.Errorf("the terminal never showed %q: %w", text, ctx.Err())
		}
	}
}

// quiet waits until nothing was drawn for some time.
func (t *terminal) quiet(ctx context.Context, long time.Duration) error {
	for {
		t.mu.Lock()
		since := time.Since(t.last)
		t.mu.Unlock()
		if since >= long {
			return nil
		}
		if err := pause(ctx, long-since); err != nil {
			return err
		}
	}
}

// key presses a key and returns how long the first bytes of the answer took.
func (t *terminal) key(ctx context.Context, key string) (time.Duration, error) {
	select {
	case <-t.more:
	default:
	}
	began := time.Now()
	if _, err := t.master.WriteString(key); err != nil {
		return 0, err
	}
	select {
	case <-t.more:
		return time.Since(began), nil
	case <-time.After(2 * time.Second):
		return 0, fmt.Errorf("the key %q was not answered within 2 s", key)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// drawn returns how many frames and bytes were drawn so far.
func (t *terminal) drawn() (frames, bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames, t.bytes
}

// used returns the processor time of the dashboard so far.
func (t *terminal) used() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may have spaces; user and system time are the 14th and
	// 15th field, in ticks of 10 ms (proc(5)).
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the kernel's record of the dashboard cannot be read")
	}
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// close ends the dashboard.
func (t *terminal) close() {
	_ = t.cmd.Process.Kill() // it may have ended
	_ = t.cmd.Wait()
	_ = t.master.Close()
}

func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
