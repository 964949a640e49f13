package timeline

import (
	"io"
	"strings"
)

// plain writes self-contained lines: each has its label, and its thread where
// there are several, so that grep and sort work. A line is written when it is
// complete; there is no status line.
type plain struct {
	w       io.Writer
	threads bool // name the thread in every line
	out     []byte
	open    map[string]*plainBlock
}

type plainBlock struct {
	prefix string
	line   strings.Builder
}

func newPlain(w io.Writer, threads bool) *plain {
	return &plain{w: w, threads: threads, open: map[string]*plainBlock{}}
}

func (p *plain) write(key, thread string, l label, text string, _ *source) {
	block := p.open[key]
	if block == nil {
		block = &plainBlock{prefix: l.word + ": "}
		if p.threads && thread != "" {
			block.prefix = "[" + OneLine(thread) + "] " + block.prefix
		}
		p.open[key] = block
	}
	for {
		line, rest, ended := strings.Cut(text, "\n")
		block.line.WriteString(line)
		if !ended {
			return
		}
		p.end(block)
		text = rest
	}
}

func (p *plain) end(block *plainBlock) {
	p.out = append(p.out, strings.TrimRight(block.prefix+block.line.String(), " \t")...)
	p.out = append(p.out, '\n')
	block.line.Reset()
}

func (p *plain) finish(key string) {
	if block := p.open[key]; block != nil {
		if block.line.Len() > 0 {
			p.end(block)
		}
		delete(p.open, key)
	}
}

func (p *plain) status(string) {}
func (p *plain) settle()       {}
func (p *plain) lose()         {}

// strike can do nothing: what has been printed has been printed.
func (p *plain) strike(func(*source) bool, bool) (above bool) { return true }

func (p *plain) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.w.Write(p.out)
	p.out = p.out[:0]
	return err
}
