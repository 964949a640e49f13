package daemon

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/seed82539d15/holon/api/logring"
)

// newLogger logs to stderr and to the ring that holon/logStream reads. Stderr gets one
// JSON object per line; if a person reads it on a terminal, words.
func (o *Options) newLogger(ring *logring.Ring) (*zap.Logger, error) {
	at, err := zapcore.ParseLevel(o.Config.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	stderr := jsonCore(o.Stderr, at)
	if o.Welcome != nil {
		shown := at
		if !o.AskedForLog {
			shown = max(at, zapcore.WarnLevel)
		}
		stderr = &wordsCore{LevelEnabler: shown, to: zapcore.Lock(zapcore.AddSync(o.Stderr))}
	}
	return zap.New(zapcore.NewTee(stderr, ring.Core(at))), nil
}

// jsonCore writes a JSON object per line.
func jsonCore(to io.Writer, at zapcore.Level) zapcore.Core {
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey, enc.MessageKey, enc.LevelKey = "time", "message", "level"
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	return zapcore.NewCore(zapcore.NewJSONEncoder(enc), zapcore.Lock(zapcore.AddSync(to)), at)
}
