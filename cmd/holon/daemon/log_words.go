package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap/zapcore"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// maxLogValue bounds a value on the terminal: a stack or an answer would fill it. The
// ring has more of it.
const maxLogValue = 200

// wordsCore writes entries for a person: time, level (of warnings and errors), message
// and fields, in a line without anything that acts on a terminal.
type wordsCore struct {
	zapcore.LevelEnabler
	to     zapcore.WriteSyncer
	fields []zapcore.Field
}

func newWordsCore(to zapcore.WriteSyncer, at zapcore.LevelEnabler) zapcore.Core {
	return &wordsCore{LevelEnabler: at, to: to}
}

// With implements zapcore.Core.
func (c *wordsCore) With(fields []zapcore.Field) zapcore.Core {
	next := *c
	next.fields = slices.Concat(c.fields, fields)
	return &next
}

// Check implements zapcore.Core.
func (c *wordsCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *wordsCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	_, err := c.to.Write([]byte(words(e, slices.Concat(c.fields, fields)) + "\n"))
	return err
}

// Sync implements zapcore.Core.
func (c *wordsCore) Sync() error { return c.to.Sync() }

// words returns an entry in a line.
func words(e zapcore.Entry, fields []zapcore.Field) string {
	text := e.Time.Local().Format("15:04:05 ")
	switch {
	case e.Level == zapcore.WarnLevel:
		text += "warning: "
	case e.Level > zapcore.WarnLevel:
		text += "error: "
	}
	if e.LoggerName != "" {
		text += e.LoggerName + ": "
	}
	text += e.Message
	var values []string
	for _, f := range fields {
		all := zapcore.NewMapObjectEncoder()
		f.AddTo(all)
		for _, name := range slices.Sorted(maps.Keys(all.Fields)) {
			values = append(values, name+" "+timeline.Fit(timeline.OneLine(fmt.Sprint(all.Fields[name])), maxLogValue))
		}
	}
	if len(values) > 0 {
		text += " (" + strings.Join(values, ", ") + ")"
	}
	return timeline.OneLine(text)
}
