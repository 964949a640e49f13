package dashboard

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// The server is asked whether it can store anything while something works and until it
// can again: rarely, but at once after a refused request. Nothing is asked while all rest,
// nor of a server that does not say it.
func TestTheServerIsAskedRarelyWhetherItCanStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answers, got := make(chan error, 1), make(chan tea.Msg, 1000)
		unstored := make(chan struct{}, 1)
		f := &feed{
			requests: new(atomic.Int64), busy: map[string]struct{}{}, unstored: unstored,
			send: func(msg tea.Msg) { got <- msg },
			ready: func(context.Context) error {
				asked.Add(1)
				select {
				case err := <-answers:
					return err
				default:
					return nil
				}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { f.readStorage(ctx); close(done) }()
		after := func(d time.Duration, requests int64, want ...tea.Msg) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			var said []tea.Msg
			for len(got) > 0 {
				said = append(said, <-got)
			}
			if n := asked.Swap(0); n != requests || !slices.Equal(said, want) {
				t.Errorf("in %s it asks %d times and says %q, want %d and %q", d, n, said, requests, want)
			}
		}
		busy := func(works bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if delete(f.busy, "t"); works {
				f.busy["t"] = struct{}{}
			}
		}
		full := &client.Error{HTTPStatus: 503, Kind: client.KindUnavailable, Reason: string(storageFull)}
		after(time.Hour, 0)
		busy(true)
		answers <- full
		after(storageEvery, 1, storageFull)
		busy(false)
		answers <- errors.New("connection refused")
		after(storageEvery, 1)
		after(storageEvery, 1, storage(""))
		after(time.Hour, 0)
		answers <- full
		unstored <- struct{}{}
		after(0, 1, storageFull)
		answers <- &client.Error{HTTPStatus: 403, Kind: client.KindForbidden}
		after(storageEvery, 1, storage(""))
		unstored <- struct{}{}
		after(time.Hour, 0)
		<-done
		cancel()
	})
}

// That nothing is stored is said on each page, below its keys, until it is over.
func TestThatTheDiskIsFullIsSaidOnEachPage(t *testing.T) {
	for width, want := range map[int]string{80: "The server's disk is full: nothing new is stored until there is space.", 40: "The server's disk is full"} {
		p, _ := testProgram(t, Options{})
		p.Update(tea.WindowSizeMsg{Width: width, Height: 10})
		p.Update(waiting(3))
		shows := func(line int, want string) {
			t.Helper()
			lines := strings.Split(p.View().Content, "\n")
			if got := strings.TrimRight(screen.OneLine(lines[len(lines)-line]), " "); len(lines) != 10 || !strings.HasPrefix(got, want) {
				t.Errorf("of %d lines the one %d from the end is %q, want %q", len(lines), line, got, want)
			}
		}
		p.Update(storageFull)
		shows(1, want)
		shows(2, "a answer")
		p.say(noon, "Something.")
		shows(1, want)
		shows(2, "Something.")
		p.notice = ""
		page := openThread(t, p, "thread_1")
		p.Update(toPage{page, tea.KeyPressMsg{Code: tea.KeyTab}})
		shows(1, want)
		shows(3, "> ")
		if c := p.View().Cursor; c == nil || c.Y != 7 {
			t.Errorf("the cursor is %+v", c)
		}
		p.Update(storage(""))
		shows(2, "> ")
	}
}

// A request that is refused because nothing is stored has the feed ask at once.
func TestARefusalForLackOfSpaceHasTheServerAsked(t *testing.T) {
	p, _ := testProgram(t, Options{})
	p.Update(toPage{p.overview, screen.Done{Action: screen.Retry{Turn: "t"}, Err: &client.Error{Kind: "conflict"}}})
	if len(p.unstored) != 0 {
		t.Error("any refusal has it asked")
	}
	for range 3 {
		p.Update(toPage{p.overview, screen.Done{Action: screen.Retry{Turn: "t"}, Err: &client.Error{Kind: "storage_full"}}})
	}
	if len(p.unstored) != 1 {
		t.Error("the feed is not told")
	}
}

// A thread that works counts as such until it rests.
func TestTheFeedKnowsWhetherAnythingWorks(t *testing.T) {
	f := &feed{send: func(tea.Msg) {}, today: newSpending(noon), parents: map[string]string{}, working: map[string]int64{}, busy: map[string]struct{}{}}
	one := thread{Thread: overview.Thread{ID: "t", Summary: overview.Summary{Status: "working"}}}
	f.deliver([]thread{one}, overview.Listed{Whole: true})
	if !f.anyWorks() {
		t.Error("nothing works")
	}
	one.Summary.Status = "idle"
	f.deliver([]thread{one}, overview.Listed{})
	if f.anyWorks() {
		t.Error("something works still")
	}
}

// While there is no connection the line that says so stays, whatever else is said, and the
// numbers say of when they are: also if the connection was lost on the page of a thread.
func TestWithoutAConnectionTheScreenSaysOfWhenItIs(t *testing.T) {
	p, at := testProgram(t, Options{})
	p.Update(tea.WindowSizeMsg{Width: 40, Height: 10})
	p.Update(waiting(3))
	openThread(t, p, "thread_1")
	lost := screen.Connection{State: client.State{Kind: client.Lost, Reason: io.EOF}}
	p.Update(lost)
	p.page = p.overview
	*at = at.Add(5 * time.Minute)
	p.Update(lost)
	p.Update(toPage{p.overview, screen.Done{Action: screen.Retry{Turn: "t"}, Err: io.EOF}})
	if got := lastLine(p); got != "The server is gone; trying again" {
		t.Errorf("after a request has failed the last line is %q", got)
	}
	if got := ansi.Strip(p.View().Content); !strings.Contains(got, "as of 12:00 · 3 need you · 0 working") {
		t.Errorf("the top line does not say of when it is:\n%s", got)
	}
	p.Update(screen.Connection{State: client.State{Kind: client.Resumed}})
	if got := p.View().Content; strings.Contains(got, "as of") || strings.Contains(got, "trying again") {
		t.Errorf("with a connection it is\n%s", got)
	}
}
