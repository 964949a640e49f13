package logring

import (
	"strings"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// core feeds a Ring.
type core struct {
	zapcore.LevelEnabler
	ring   *Ring
	fields zapcore.Encoder // encodes fields only
}

// Core returns a zap core that adds every entry that level enables to the
// ring; use it in zapcore.NewTee. Fields follow the message as JSON.
func (r *Ring) Core(level zapcore.LevelEnabler) zapcore.Core {
	return &core{level, r, zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		EncodeTime:     zapcore.ISO8601TimeEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		SkipLineEnding: true,
	})}
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	next := *c
	next.fields = c.fields.Clone()
	for _, f := range fields {
		f.AddTo(next.fields)
	}
	return &next
}

// Check implements zapcore.Core.
func (c *core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write implements zapcore.Core.
func (c *core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	b, err := c.fields.EncodeEntry(zapcore.Entry{}, fields)
	if err != nil {
		return err
	}
	c.ring.Add(e.Level.String(), e.Time, joined(e, b))
	b.Free()
	return nil
}

func joined(e zapcore.Entry, fields *buffer.Buffer) string {
	message := strings.TrimRight(e.Message, "\n")
	if e.LoggerName != "" {
		message = e.LoggerName + ": " + message
	}
	if text := fields.String(); text != "{}" {
		message += " " + text
	}
	return message
}

// Sync implements zapcore.Core.
func (c *core) Sync() error { return nil }
