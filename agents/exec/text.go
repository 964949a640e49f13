package exec

import (
	"context"
	"io"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// output makes ops of a process's output. One goroutine calls read, then one
// calls finish.
type output interface {
	// read reads stdout to its end. It emits what it has read before it waits
	// for more. Its error is the sink's.
	read(ctx context.Context, stdout io.Reader) error
	// finish is called once, when all output has been read and the process has
	// ended; end is how the prompt ends. Afterwards nothing is emitted.
	finish(ctx context.Context, end turns.State) error
	// result is the agent's own report of how the prompt ended, nil if there is
	// none.
	result() *resultEvent
}

// textOutput makes one message of the whole output.
type textOutput struct {
	p      *turns.Prompt
	format items.Format
	id     string // "" = nothing has been printed
	runes  runes
}

func (o *textOutput) read(ctx context.Context, stdout io.Reader) error {
	for buf := make([]byte, readSize); ; {
		n, err := stdout.Read(buf)
		if err := o.say(ctx, o.runes.feed(buf[:n])); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

func (o *textOutput) say(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	var ops []items.Op
	if o.id == "" {
		o.id = items.NewID()
		ops = append(ops, items.Create{ItemID: o.id, Content: formatted(items.NewAgentMessage(""), o.format)})
	}
	return o.p.Emit(ctx, append(ops, items.Append{ItemID: o.id, Text: text})...)
}

func (o *textOutput) finish(ctx context.Context, end turns.State) error {
	if err := o.say(ctx, o.runes.flush()); err != nil || o.id == "" {
		return err
	}
	return o.p.Emit(ctx, items.Update{ItemID: o.id, Status: items.Status(end)})
}

func (o *textOutput) result() *resultEvent { return nil }

// runes makes valid UTF-8 of bytes that come in pieces. It splits no code
// point. Each byte that belongs to none becomes U+FFFD. The result does not
// depend on the boundaries of the pieces.
type runes struct{ carry []byte }

func (r *runes) feed(chunk []byte) string {
	b := chunk
	if len(r.carry) > 0 {
		b = append(r.carry, chunk...)
	}
	keep := incomplete(b)
	text := toText(b[:len(b)-keep])
	r.carry = append([]byte(nil), b[len(b)-keep:]...)
	return text
}

// flush returns the bytes of an incomplete code point.
func (r *runes) flush() string {
	text := toText(r.carry)
	r.carry = nil
	return text
}

// incomplete returns how many bytes at the end of b may be the beginning of a code
// point.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

func toText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b))) // one U+FFFD for each byte that is wrong
}
