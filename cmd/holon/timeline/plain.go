package timeline

import (
	"io"
	"slices"
	"strings"
)

// plain writes self-contained lines: each has its label, and its thread if
// there are several, so that grep and sort work. A line is written when it is
// complete; there is no status line.
type plain struct {
	w       io.Writer
	threads bool // name the thread in every line
	name    func(thread string) string
	out     []byte
	open    map[string]*plainBlock

	sources []*source // of the newest lines
	dropped bool      // older ones were forgotten
}

type plainBlock struct {
	prefix string
	line   strings.Builder
	paused bool // it continues after another block
}

func newPlain(w io.Writer, threads bool, name func(thread string) string) *plain {
	return &plain{w: w, threads: threads, name: name, open: map[string]*plainBlock{}}
}

func (p *plain) write(key, thread string, l label, text string, from *source) {
	p.remember(from)
	block := p.open[key]
	if block == nil {
		block = &plainBlock{prefix: l.word + ": "}
		if p.threads && thread != "" {
			block.prefix = "[" + p.name(thread) + "] " + block.prefix
		}
		p.open[key] = block
	}
	if block.paused {
		text, block.paused = strings.TrimLeft(text, " "), false
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

func (p *plain) pause(key string) {
	if block := p.open[key]; block != nil && block.line.Len() > 0 {
		p.end(block)
		block.paused = true
	}
}

func (p *plain) finish(key string) {
	p.pause(key)
	delete(p.open, key)
}

func (p *plain) status(string) {}
func (p *plain) showHeld()     {}
func (p *plain) lose()         {}

// remember keeps the sources of lines, as far back as a terminal does.
func (p *plain) remember(from *source) {
	if n := len(p.sources); from == nil || n > 0 && p.sources[n-1] == from {
		return
	}
	p.sources = append(p.sources, from)
	if len(p.sources) > 2*keptRows {
		p.sources, p.dropped = slices.Delete(p.sources, 0, keptRows), true
	}
}

// strike reports only: printed lines cannot be changed.
func (p *plain) strike(stale func(*source) bool, _ bool) (above bool) {
	n := len(p.sources)
	p.sources = slices.DeleteFunc(p.sources, stale)
	return p.dropped || len(p.sources) < n
}

func (p *plain) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.w.Write(p.out)
	p.out = p.out[:0]
	return err
}
