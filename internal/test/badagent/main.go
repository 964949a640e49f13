package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lifetime bounds a process that ignores everything: a failed test must not
// leave it behind forever.
const lifetime = 10 * time.Minute

func main() {
	if len(os.Args) > 1 && os.Args[1] == "grandchild" {
		ignoreSignals()
		time.Sleep(lifetime)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "command" {
		time.Sleep(lifetime)
		return
	}
	a := newAgent(readOptions())
	if code, text, ok := strings.Cut(a.options["exit"], ":"); ok {
		n, _ := strconv.Atoi(code)
		a.die(n, text)
	}
	if a.on("stubborn") {
		ignoreSignals()
	}
	if banner := a.options["banner"]; banner != "" {
		a.line([]byte(banner))
	}
	a.serve(os.Stdin)
	if a.stubborn() {
		time.Sleep(lifetime)
	}
}

func ignoreSignals() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP) }

func readOptions() map[string]string {
	options := map[string]string{"version": "1.0.0", "name": "badagent"}
	for _, word := range append(os.Args[1:], strings.Fields(os.Getenv("BADAGENT"))...) {
		key, value, given := strings.Cut(word, "=")
		if !given {
			value = "yes"
		}
		options[key] = value
	}
	return options
}

// agent is the process.
type agent struct {
	options map[string]string

	out sync.Mutex // held while a message is written

	mu          sync.Mutex // guards the fields below
	sessions    map[string]*session
	pending     map[string]pending // the agent's own requests, by id
	lastID      int
	opened      int // sessions
	initialized bool
	client      json.RawMessage // its capabilities
	loggedIn    bool
	ignoring    bool // ignores EOF, TERM, HUP
	unread      bool // stop reading stdin
	violations  []string
}

func newAgent(options map[string]string) *agent {
	return &agent{options: options, sessions: map[string]*session{}, pending: map[string]pending{}, ignoring: options["stubborn"] != ""}
}

func (a *agent) on(option string) bool { return a.options[option] != "" }

func (a *agent) number(option string) int {
	n, _ := strconv.Atoi(a.options[option])
	return n
}

func (a *agent) pause(option string) { time.Sleep(time.Duration(a.number(option)) * time.Millisecond) }

func (a *agent) stubborn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ignoring
}

// die writes text to stderr and exits.
func (a *agent) die(code int, text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(code)
}

// violation records that the client broke the protocol.
func (a *agent) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, "badagent: the client broke the protocol:", text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.violations = append(a.violations, text)
}

// serve reads messages until the end of stdin.
func (a *agent) serve(stdin io.Reader) {
	in := bufio.NewReaderSize(stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		a.mu.Lock()
		unread := a.unread
		a.mu.Unlock()
		if unread {
			time.Sleep(lifetime)
			return
		}
		if len(strings.TrimSpace(string(line))) > 0 {
			a.take(line)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			a.die(1, "read stdin: "+err.Error())
		}
	}
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

func (a *agent) take(line []byte) {
	var m message
	switch err := json.Unmarshal(line, &m); {
	case err != nil:
		a.violation("a line is no message: %v", err)
	case m.JSONRPC != "2.0":
		a.violation("a message without jsonrpc 2.0: %.200s", line)
	case m.Method == "" && m.ID != nil:
		a.answered(m)
	case m.ID == nil:
		a.notified(m)
	default:
		a.request(m)
	}
}
