package daemon

import (
	"bytes"
	"fmt"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed82539d15/holon/api/logring"
)

// newLogger logs to stderr and to the ring that holon/logStream reads. Stderr gets one
// JSON object per line, or words. No entry waits for its reader.
func (o *Options) newLogger(ring *logring.Ring) (*zap.Logger, error) {
	at, err := zapcore.ParseLevel(o.Config.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	core, shown := o.core(), at
	if o.Welcome != nil && !o.AskedForLog {
		shown = max(at, zapcore.WarnLevel)
	}
	below := zap.LevelEnablerFunc(func(l zapcore.Level) bool { return l >= shown && l < zapcore.WarnLevel })
	o.Stderr.tellBy(func(d Dropped) []byte {
		var line bytes.Buffer
		zap.New(core(zapcore.AddSync(&line), zapcore.WarnLevel)).Warn("lines of this log were dropped, because stderr was not read",
			zap.Int("info", d.Info), zap.Int("warnings", d.Warnings))
		return line.Bytes()
	})
	return zap.New(zapcore.NewTee(
		core(zapcore.AddSync(infoLines{o.Stderr}), below), core(zapcore.AddSync(o.Stderr), max(shown, zapcore.WarnLevel)), ring.Core(at),
	), zap.ErrorOutput(zapcore.AddSync(o.Stderr))), nil
}

// core writes entries as Stderr has them.
func (o *Options) core() func(zapcore.WriteSyncer, zapcore.LevelEnabler) zapcore.Core {
	if o.Text {
		return newWordsCore
	}
	return jsonCore
}

// Say writes to Stderr what is for people, whatever the level of the log: as it is, or as
// the message of an entry of this level, with what to do, the indented lines and what follows
// them, as hint.
func (o *Options) Say(level zapcore.Level, text string) {
	if o.Text {
		_, _ = o.Stderr.Write([]byte(text + "\n")) // it returns no error
		return
	}
	message, hint, more := strings.Cut(text, "\n")
	for message != "" && more && !strings.HasPrefix(hint, " ") && !strings.HasPrefix(hint, "Try: ") { // an error of several has a line for each
		var line string
		line, hint, more = strings.Cut(hint, "\n")
		message += "; " + line
	}
	var fields []zap.Field
	if hint = strings.Join(strings.Fields(hint), " "); hint != "" {
		fields = append(fields, zap.String("hint", hint))
	}
	zap.New(jsonCore(zapcore.AddSync(o.Stderr), zapcore.DebugLevel)).Log(level, message, fields...)
}

// say prints a message that is not a problem.
func (d *daemon) say(format string, args ...any) {
	d.Say(zapcore.InfoLevel, fmt.Sprintf(format, args...))
}

// jsonCore writes a JSON object per line.
func jsonCore(to zapcore.WriteSyncer, at zapcore.LevelEnabler) zapcore.Core {
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey, enc.MessageKey, enc.LevelKey = "time", "message", "level"
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	return zapcore.NewCore(zapcore.NewJSONEncoder(enc), to, at)
}
