package chat

import (
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// While the connection is lost, a key has the server tried at once; else it does not.
func TestAKeyTriesAtOnceWhileTheServerIsGone(t *testing.T) {
	for kind, want := range map[client.StateKind]bool{client.Lost: true, client.Resumed: false} {
		synctest.Test(t, func(t *testing.T) {
			c := client.New(client.At("https://holon.example.org", client.SourceGiven, "", false))
			defer c.Close()
			p := &program{ctx: t.Context(), options: Options{Thread: "a", Client: c}, drafts: &conversation.Drafts{}}
			p.push("a")
			p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			tried := make(chan error, 1)
			go func() { tried <- c.AwaitRetry(t.Context(), 100) }()
			synctest.Wait()
			p.Update(batch{p.round, screen.Connection{State: client.State{Kind: kind}}})
			p.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
			synctest.Wait() // the clock of the bubble stands still
			if got := len(tried) == 1; got != want {
				t.Errorf("%s: it is tried at once: %v", kind, got)
			}
		})
	}
}
