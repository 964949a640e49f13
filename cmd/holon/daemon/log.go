package daemon

import (
	"bytes"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed82539d15/holon/api/logring"
)

// newLogger logs to stderr and to the ring that holon/logStream reads. Stderr gets one
// JSON object per line; if a person reads it on a terminal, words. No entry waits for its
// reader.
func (o *Options) newLogger(ring *logring.Ring) (*zap.Logger, error) {
	at, err := zapcore.ParseLevel(o.Config.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	core, shown := jsonCore, at
	if o.Welcome != nil {
		core = newWordsCore
		if !o.AskedForLog {
			shown = max(at, zapcore.WarnLevel)
		}
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

// jsonCore writes a JSON object per line.
func jsonCore(to zapcore.WriteSyncer, at zapcore.LevelEnabler) zapcore.Core {
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey, enc.MessageKey, enc.LevelKey = "time", "message", "level"
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	return zapcore.NewCore(zapcore.NewJSONEncoder(enc), to, at)
}
