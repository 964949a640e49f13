package browsertest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// complaints collects what a page logs as a warning or an error, what it throws, and what
// its policy has refused. All of it fails the test in the end, but for what the test
// expects.
type complaints struct {
	mu       sync.Mutex
	lines    []string
	expected []string // parts of lines
}

// hear takes an event of the browser.
func (c *complaints) hear(ev any) {
	switch e := ev.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			c.add(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		c.add(fmt.Sprintf("thrown: %s", describeException(e.ExceptionDetails)))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var words []string
			for _, a := range e.Args {
				words = append(words, strings.Trim(string(a.Value), `"`)+a.Description)
			}
			c.add("console: " + strings.Join(words, " "))
		}
	}
}

func describeException(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

// add takes a complaint, unless the test expects it now.
func (c *complaints) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, part := range c.expected {
		if strings.Contains(line, part) {
			return
		}
	}
	if len(c.lines) < 50 {
		c.lines = append(c.lines, line)
	}
}

// expect makes complaints with one of these parts no faults from now on; none: all are.
func (c *complaints) expect(parts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = parts
}

func (c *complaints) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines
}

// offline is what a browser itself logs while a server is away.
var offline = []string{"net::ERR_"}

// run sends a command of the protocol to a tab.
func run[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}
