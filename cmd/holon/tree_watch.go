package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// The pace of a live tree.
const (
	treeEvery  = 200 * time.Millisecond // how soon a change is drawn
	treeMoving = time.Second            // how often the times move
)

// watchForest draws the forest as it changes, until the context ends. It uses the
// other screen of the terminal and leaves the last picture on the first one.
func watchForest(c *caller, f *forest) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	feed := startFeed(c.ctx, c.client, client.Options{AfterSeq: &f.latest, Methods: forestEvents})
	defer feed.end()
	screen := &treeScreen{con: c.console}
	if err := screen.begin(); err != nil {
		return err
	}
	err := followForest(c, f, feed, screen, resized)
	if endErr := screen.end(f); err == nil {
		err = endErr
	}
	return err
}

func followForest(c *caller, f *forest, feed *feed, screen *treeScreen, resized <-chan os.Signal) error {
	pace := time.NewTicker(treeEvery)
	defer pace.Stop()
	changed, drawn, lost := true, time.Time{}, ""
	for {
		select {
		case item, open := <-feed.items:
			switch {
			case !open && c.ctx.Err() != nil && (errors.Is(feed.err, c.ctx.Err()) || errors.Is(feed.err, context.Cause(c.ctx))):
				return nil // Ctrl-C ends the watch
			case !open:
				return feed.err
			case item.state == nil:
				f.apply(item.event)
				wordQuestions(c.ctx, c.client, f)
			case item.state.Kind == client.Lost:
				lost = fmt.Sprintf("connection lost, attempt %d", item.state.Attempt)
			default:
				lost = ""
			}
			changed = true
		case <-resized:
			screen.forget()
			changed = true
		case now := <-pace.C:
			if !changed && (!f.running() || now.Sub(drawn) < treeMoving) {
				continue
			}
			changed, drawn = false, now
			if err := screen.draw(f, lost); err != nil {
				return err
			}
		}
	}
}

// treeScreen is the other screen of a terminal, with a picture on it.
type treeScreen struct {
	con   *console
	shown []string // its lines
}

func (s *treeScreen) begin() error {
	_, err := io.WriteString(s.con.out, "\x1b[?1049h\x1b[?25l\x1b[2J")
	return err
}

// forget makes the next draw write every line.
func (s *treeScreen) forget() { s.shown = nil }

// draw writes the lines that differ from those on the screen.
func (s *treeScreen) draw(f *forest, lost string) error {
	lines := f.picture(s.con).lines
	if len(lines) == 0 {
		lines = []string{"No thread has child threads, and none runs a turn."}
	}
	rows := max(2, s.con.windowRows())
	if most := rows - 2; len(lines) > most {
		left := len(lines) - most + 1
		lines = append(slices.Clone(lines[:most-1]), fmt.Sprintf("… %s; holon tree shows all", counted(left, "more line", "more lines")))
	}
	foot := "Ctrl-C ends"
	if lost != "" {
		foot = lost + " · " + foot
	}
	lines = append(lines, "", s.con.signs(true).Dim(foot))
	var b strings.Builder
	if s.shown == nil {
		b.WriteString("\x1b[2J")
	}
	for i := range max(len(lines), len(s.shown)) {
		switch {
		case i >= len(lines):
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K", i+1)
		case i >= len(s.shown) || s.shown[i] != lines[i]:
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K%s", i+1, lines[i])
		}
	}
	s.shown = lines
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(s.con.out, b.String())
	return err
}

// end leaves the last picture on the first screen.
func (s *treeScreen) end(f *forest) error {
	_, err := io.WriteString(s.con.out, "\x1b[?25h\x1b[?1049l"+f.picture(s.con).text())
	return err
}
