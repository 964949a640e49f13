package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestTheLogOnATerminalIsALineOfWords(t *testing.T) {
	var seen strings.Builder
	log := zap.New(newWordsCore(zapcore.AddSync(&seen), zapcore.InfoLevel), zap.WithClock(noon{}))
	log.Debug("nobody asked for it")
	log.Named("agents").With(zap.String("agent", "mine")).Warn("it has ended", zap.Duration("after", time.Second), zap.Error(errors.New("a\nb\x1b[2J")))
	log.Error("cut", zap.String("stack", strings.Repeat("x", 1000)))
	want := "12:00:00 warning: agents: it has ended (agent mine, after 1s, error a b)\n" +
		"12:00:00 error: cut (stack " + strings.Repeat("x", maxLogValue-1) + "…)\n"
	if seen.String() != want {
		t.Errorf("got  %q\nwant %q", seen.String(), want)
	}
}

// noon is a clock at which it is always noon.
type noon struct{}

func (noon) Now() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local) }

func (noon) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

// An error of several errors has a line for each: they are the message, and only what to do is
// the hint.
func TestAllLinesOfAnErrorAreTheMessage(t *testing.T) {
	for text, want := range map[string][2]string{
		"holon: open x: database or disk is full\nclose x: database or disk is full\n  Make space on that disk.\n  Or not.": {"holon: open x: database or disk is full; close x: database or disk is full", "Make space on that disk. Or not."},
		"holon: --listen x: no port\nTry: holon serve --help":                                                               {"holon: --listen x: no port", "Try: holon serve --help"},
		"holon: no":      {"holon: no", ""},
		"\nStop:\n  now": {"", "Stop: now"},
	} {
		var out bytes.Buffer
		stderr := OpenStderr(&out)
		(&Options{Stderr: stderr}).Say(zapcore.ErrorLevel, text)
		stderr.Close()
		var entry struct{ Message, Hint string }
		if err := json.Unmarshal(out.Bytes(), &entry); err != nil || entry.Message != want[0] || entry.Hint != want[1] {
			t.Errorf("%q: %+v, %v", text, entry, err)
		}
	}
}
