package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Server is a server for conversations with one player at a time.
type Server interface {
	// Dial opens a two-way connection that is subscribed live. Closing it
	// must end a Read.
	Dial(ctx context.Context) (io.ReadWriteCloser, error)
	// Stop ends the server: at once if kill is set, else in order, while the
	// player still reads the last connection.
	Stop(ctx context.Context, kill bool) error
	// Start starts it again on the same data.
	Start(ctx context.Context) error
}

// patience bounds each single wait. It is generous for a busy machine; a
// successful run never waits that long.
const patience = 15 * time.Second

// Play plays the conversation with the server and returns it as it went, with
// placeholders. It equals the text if the server follows the transcript. An
// error means that it could not be finished; the conversation so far is
// returned with it.
func Play(ctx context.Context, text string, server Server) (string, error) {
	steps, err := parse(text)
	if err != nil {
		return "", err
	}
	p := &player{server: server, names: newNames()}
	defer p.hangUp()
	if err := p.dial(ctx); err != nil {
		return "", err
	}
	for _, s := range steps {
		if err := p.step(ctx, s); err != nil {
			return p.out.String(), fmt.Errorf("%s: %w", s.line, err)
		}
	}
	return p.out.String(), nil
}

// player is one conversation. Its goroutine alone uses it; the reader of the
// connection fills the feed.
type player struct {
	server Server
	names  *names
	out    strings.Builder

	conn io.ReadWriteCloser
	feed *feed
	at   int            // lines of the feed before this have been shown
	done map[*line]bool // replies that were shown early, with their request
	// head is the newest seq that was shown or lies before the subscription.
	head int64
	// open says whether the stream is unfiltered, so that a response's seq
	// tells how far to read.
	open bool
}

func (p *player) step(ctx context.Context, s step) error {
	switch s.kind {
	case "remark":
		p.out.WriteString(s.line + "\n")
		return nil
	case "send":
		p.out.WriteString(s.line + "\n")
		return p.send(ctx, s.text)
	case "wait":
		p.out.WriteString(s.line + "\n")
		return p.wait(ctx, s.text)
	case "mark":
		p.out.WriteString(s.line + "\n")
		p.names.value["<"+s.text+">"] = fmt.Sprint(p.head)
		return nil
	case "connect":
		p.hangUp()
		p.out.WriteString(s.line + "\n")
		return p.dial(ctx)
	default: // restart, kill
		return p.restart(ctx, s)
	}
}

// dial opens the connection and shows stream/opened.
func (p *player) dial(ctx context.Context) error {
	conn, err := p.server.Dial(ctx)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	p.conn, p.feed, p.at, p.done, p.open = conn, newFeed(conn), 0, map[*line]bool{}, true
	first, err := p.feed.find(ctx, 0, func(*line) bool { return true })
	if err != nil {
		return fmt.Errorf("stream/opened: %w", err)
	}
	n, _ := first.params["after_seq"].(float64)
	p.head, p.at = int64(n), 1
	return p.show(first)
}

func (p *player) hangUp() {
	if p.conn != nil {
		p.conn.Close()
		p.feed.wait()
		p.conn = nil
	}
}

// send writes a line and shows its answer at its place in the transcript.
func (p *player) send(ctx context.Context, text string) error {
	text, err := p.names.show(text)
	if err != nil {
		return err
	}
	from := p.feed.len()
	if _, err := io.WriteString(p.conn, text+"\n"); err != nil {
		return err
	}
	req := sending(text)
	if !req.answered {
		return nil
	}
	reply, err := p.feed.find(ctx, from, func(l *line) bool { return l.isReply() && l.id == req.id && !p.done[l] })
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	p.done[reply] = true
	if reply.seq > p.head && p.open {
		if err := p.until(ctx, func(l *line) bool { return l.isEvent() && l.seq >= reply.seq }); err != nil {
			return fmt.Errorf("the event with the response's seq: %w", err)
		}
	}
	p.follow(req, reply)
	return p.show(reply)
}

// follow tracks the subscription of the connection. It skips events of the old
// subscription that no step waited for. The new one says where it begins, and
// its events come after the response.
func (p *player) follow(req sentLine, reply *line) {
	switch req.method {
	case "stream/unsubscribe":
		p.open = false
	case "stream/subscribe":
		if reply.failed {
			return
		}
		p.at = max(p.at, reply.at+1)
		p.open = req.params["thread_ids"] == nil && req.params["methods"] == nil
		if n, ok := req.params["after_seq"].(float64); ok {
			p.head = int64(n)
		}
	}
}

// wait reads on until an event, and shows everything up to it.
func (p *player) wait(ctx context.Context, args string) error {
	words := strings.Fields(args)
	if len(words) == 0 {
		return errors.New("wait for what?")
	}
	want := map[string]string{}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		value, err := p.names.show(value)
		if err != nil {
			return err
		}
		want[key] = value
	}
	return p.until(ctx, func(l *line) bool {
		if l.method != words[0] {
			return false
		}
		for key, value := range want {
			if fmt.Sprint(l.params[key]) != value {
				return false
			}
		}
		return true
	})
}

// until shows every line that was not shown yet, up to one that is last.
func (p *player) until(ctx context.Context, last func(*line) bool) error {
	end, err := p.feed.find(ctx, p.at, last)
	if err != nil {
		return err
	}
	return p.showTo(end)
}

// showTo shows the notifications up to a line, or all when it is nil, with the
// deltas of an item that follow each other as one. Replies are shown with the
// request they answer.
func (p *player) showTo(end *line) error {
	var joined []*line
	for _, l := range p.feed.since(p.at) {
		p.at++
		if !l.isReply() && l.method != "stream/heartbeat" {
			if n := len(joined); n == 0 || !joined[n-1].absorb(l) {
				joined = append(joined, l)
			}
			if l.isEvent() {
				p.head = max(p.head, l.seq)
			}
		}
		if l == end {
			break
		}
	}
	for _, l := range joined {
		if err := p.show(l); err != nil {
			return err
		}
	}
	return nil
}

// show writes a line of the server.
func (p *player) show(l *line) error {
	text, err := p.names.normal(l.raw)
	if err != nil {
		return err
	}
	p.out.WriteString("< " + text + "\n")
	return nil
}

// restart ends the server, shows its last lines unless it was killed, starts it
// again and dials.
func (p *player) restart(ctx context.Context, s step) error {
	kill := s.kind == "kill"
	p.out.WriteString(s.line + "\n")
	if err := p.server.Stop(ctx, kill); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if err := p.feed.ended(ctx); err != nil {
		return err
	}
	if !kill {
		if err := p.showTo(nil); err != nil {
			return err
		}
	}
	p.hangUp()
	if err := p.server.Start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return p.dial(ctx)
}
