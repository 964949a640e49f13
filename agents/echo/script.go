package echo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of one line, and of the commands in a prompt: more than any test
// or load needs, less than would fill a disk by mistake.
const (
	maxCount    = 1_000_000
	maxSize     = 1 << 20 // as max_item_bytes: one delta, or one item, of this size is cut
	maxTotal    = 1 << 30
	maxWait     = time.Hour
	maxCommands = 1_000
)

// command is one thing to do. Which fields are set depends on its verb.
type command struct {
	run  func(context.Context, *turns.Prompt, command) error
	text string
	n    int
	size int
	wait time.Duration
	ends bool   // it ends the running step
	asks bool   // it asks with its text
	step string // the step that its items belong to; for a command about a step, that step
}

// verb is how a line that begins with a slash is parsed and executed.
type verb struct {
	name  string
	usage string
	parse func(rest string) (command, error)
	run   func(context.Context, *turns.Prompt, command) error
}

// verbs lists the commands in the order in which they are documented.
var verbs = []verb{
	{"say", "/say TEXT", needsText, say},
	{"deltas", "/deltas N SIZE [DELAY_MS]", parseDeltas, deltas},
	{"items", "/items N SIZE", parseItems, finishedItems},
	{"clock", "/clock N MS", parseClock, clock},
	{"sleep", "/sleep MS", parseWait, sleep},
	{"ask", "/ask TITLE", needsText, ask},
	{"fail", "/fail MESSAGE", needsText, fail},
	{"delete", "/delete", needsNothing, withdraw},
	{"progress", "/progress TEXT", needsText, progress},
	{"crash", "/crash [N]", parseAttempts, crash},
	{"transient", "/transient [N]", parseAttempts, transient},
	{"step", "/step PATH", needsPath, step},
	{"again", "/again PATH", needsPath, retryStep},
	{"end", "/end", needsNothing, endStep},
	{"stubborn", "/stubborn MS", parseWait, stubborn},
}

// parse reads a whole prompt before any of it is executed. Lines that are no
// commands are echoed; consecutive ones are one message.
func parse(text string) ([]command, error) {
	var script []command
	var plain []string
	step := "" // the step of the following lines
	count := 0
	lines := strings.Split(text, "\n")
	flush := func() {
		said := strings.Join(plain, "\n")
		// Empty lines between commands are ignored; a prompt of empty lines
		// only is echoed.
		if strings.TrimSpace(said) != "" || len(plain) == len(lines) {
			script = append(script, command{run: say, text: said, step: step})
		}
		plain = nil
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "/") {
			plain = append(plain, line)
			continue
		}
		flush()
		if count++; count > maxCommands {
			return nil, fmt.Errorf("line %d: a prompt takes at most %d commands", i+1, maxCommands)
		}
		c, err := parseLine(line[1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		switch {
		case c.step != "":
			step = c.step
		case c.ends && step == "":
			return nil, fmt.Errorf("line %d: no step is under way; the command is /end", i+1)
		case c.ends:
			c.step, step = step, notify.StepAbove(step)
		default:
			c.step = step
		}
		script = append(script, c)
	}
	if len(plain) > 0 {
		flush()
	}
	return script, nil
}

func parseLine(line string) (command, error) {
	name, rest, _ := strings.Cut(strings.TrimRight(line, " \t\r"), " ")
	for _, v := range verbs {
		if v.name != name {
			continue
		}
		c, err := v.parse(strings.TrimLeft(rest, " "))
		if err != nil {
			return command{}, fmt.Errorf("%w; the command is %s", err, v.usage)
		}
		c.run, c.ends, c.asks = v.run, v.name == "end", v.name == "ask"
		return c, nil
	}
	return command{run: say, text: unknown(name)}, nil
}

// unknown returns the answer to an unknown command.
func unknown(name string) string {
	usages := make([]string, len(verbs))
	for i, v := range verbs {
		usages[i] = v.usage
	}
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	return fmt.Sprintf("I do not know %q. What I know: %s. Any other line is echoed.", "/"+name, strings.Join(usages, ", "))
}

func needsText(rest string) (command, error) {
	if rest == "" {
		return command{}, fmt.Errorf("the text is missing")
	}
	return command{text: rest}, nil
}

func needsNothing(rest string) (command, error) {
	if rest != "" {
		return command{}, fmt.Errorf("%q is too much", shorten(rest))
	}
	return command{}, nil
}

// parseAttempts reads in how many attempts the command acts.
func parseAttempts(rest string) (command, error) {
	if rest == "" {
		return command{n: maxCount}, nil
	}
	n, err := number("N", rest, 0, maxCount)
	return command{n: n}, err
}

func needsPath(rest string) (command, error) {
	if !notify.ValidStep(rest) {
		return command{}, fmt.Errorf("%q cannot name a step", shorten(rest))
	}
	return command{step: rest}, nil
}

func parseWait(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) != 1 {
		return command{}, fmt.Errorf("one number is needed, not %d", len(fields))
	}
	ms, err := number("MS", fields[0], 0, int(maxWait/time.Millisecond))
	return command{wait: time.Duration(ms) * time.Millisecond}, err
}

func parseDeltas(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) != 2 && len(fields) != 3 {
		return command{}, fmt.Errorf("two or three numbers are needed, not %d", len(fields))
	}
	c, err := parseVolume(fields, 1)
	if err != nil || len(fields) == 2 {
		return c, err
	}
	ms, err := number("DELAY_MS", fields[2], 0, int(maxWait/time.Millisecond))
	c.wait = time.Duration(ms) * time.Millisecond
	return c, err
}

func parseItems(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) != 2 {
		return command{}, fmt.Errorf("two numbers are needed, not %d", len(fields))
	}
	return parseVolume(fields, 0)
}

func parseClock(rest string) (command, error) {
	fields := strings.Fields(rest)
	if len(fields) != 2 {
		return command{}, fmt.Errorf("two numbers are needed, not %d", len(fields))
	}
	n, err := number("N", fields[0], 1, maxCount)
	if err != nil {
		return command{}, err
	}
	ms, err := number("MS", fields[1], 1, int(maxWait/time.Millisecond))
	return command{n: n, wait: time.Duration(ms) * time.Millisecond}, err
}

func parseVolume(fields []string, minSize int) (command, error) {
	n, err := number("N", fields[0], 1, maxCount)
	if err != nil {
		return command{}, err
	}
	size, err := number("SIZE", fields[1], minSize, maxSize)
	if err != nil {
		return command{}, err
	}
	if total := int64(n) * int64(size); total > maxTotal {
		return command{}, fmt.Errorf("a line may make at most %d bytes, not %d", maxTotal, total)
	}
	return command{n: n, size: size}, nil
}

func number(name, s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s must be a number from %d to %d, not %q", name, least, most, shorten(s))
	}
	return n, nil
}

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
