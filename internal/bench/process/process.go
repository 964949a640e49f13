// Package process runs the server and the baselines, each as a separate child,
// so that both sides of a ratio have the same cost of isolation. Stop ends what
// Start has started. If this process dies, its children die too, where the
// system supports it.
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a running child. Its methods belong to one goroutine.
type Process struct {
	Name string
	PID  int

	cmd   *exec.Cmd
	stdin io.Closer
	pipe  *os.File      // of its output
	out   *bufio.Reader // over pipe
	log   string
	done  chan struct{} // closed once the child has been reaped
	err   error         // how it ended, after done

	stop sync.Once
	how  func() error // makes it end
}

// Command says what to start. Term is sent to end it; without one its input
// is closed.
type Command struct {
	Name string
	Path string
	Args []string
	Dir  string   // where its log goes
	Env  []string // its whole environment
	Term os.Signal
}

// stopLimit is how long a child may take to end: longer than a server drains.
const stopLimit = 20 * time.Second

// Start starts a child.
func Start(c Command) (*Process, error) {
	log, err := os.CreateTemp(c.Dir, c.Name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Stderr = c.Env, log
	bind(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A separate pipe: Wait would close exec's before all output is read.
	out, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = writer
	err = cmd.Start()
	writer.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{
		Name: c.Name, PID: cmd.Process.Pid, cmd: cmd, stdin: stdin, log: log.Name(),
		pipe: out, out: bufio.NewReader(out), done: make(chan struct{}), how: stdin.Close,
	}
	if c.Term != nil {
		p.how = func() error { return cmd.Process.Signal(c.Term) }
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Line returns the next line that the child prints. It waits at most until
// ctx is done, which then ends the child.
func (p *Process) Line(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })()
	line, err := p.out.ReadBytes('\n')
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		<-p.done
		return nil, p.failure(errors.Join(p.err, errors.New("it ended without output")))
	}
	return line, nil
}

// Running returns a channel that is closed when the child has ended.
func (p *Process) Running() <-chan struct{} { return p.done }

// Stop ends the child and waits for it. The error says how it ended if it did
// not end in order. Stopping twice is fine.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		_ = p.how() // it may have ended already
		select {
		case <-p.done:
		case <-time.After(stopLimit):
			_ = p.cmd.Process.Kill()
			<-p.done
			p.err = errors.Join(p.err, fmt.Errorf("it had to be killed after %s", stopLimit))
		}
		_ = p.pipe.Close() // only read from
	})
	if p.err != nil {
		return p.failure(p.err)
	}
	return nil
}

// failure adds the end of the child's log.
func (p *Process) failure(err error) error {
	text, _ := os.ReadFile(p.log)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	last := bytes.Join(lines[max(0, len(lines)-5):], []byte("\n"))
	return fmt.Errorf("%s: %w\n%s", p.Name, err, last)
}

// RSS returns the child's resident memory in bytes.
func (p *Process) RSS() (int64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(p.PID), "status"))
	if err != nil {
		return 0, fmt.Errorf("memory is read from /proc: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			var kb int64
			_, err := fmt.Sscan(value, &kb)
			return kb << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status has no VmRSS")
}

// CPU returns the processor time that the child has used, in the system's ticks of 10 ms.
func (p *Process) CPU() (time.Duration, error) { return processorTime(p.PID) }

// processorTime reads utime and stime of proc_pid_stat(5). Their unit is fixed on Linux:
// a hundredth of a second.
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("processor time is read from /proc: %w", err)
	}
	// The second field is a name in parentheses, which may have spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	var ticks [2]int64
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[11+i], 10, 64); err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: %w", err)
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond, nil
}

// Environ returns this process's environment without the variables that configure a
// server, and with home and configuration in dir, where no files are.
func Environ(dir string) []string {
	env := []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_STATE_HOME=" + dir}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case strings.HasPrefix(name, "HOLON_"), name == "HOME", strings.HasPrefix(name, "XDG_"):
		default:
			env = append(env, e)
		}
	}
	return env
}

// Terminate is the signal that makes a server drain and end.
const Terminate = syscall.SIGTERM
