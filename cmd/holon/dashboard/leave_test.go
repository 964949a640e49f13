package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/rpc/client"
)

// closes is a server that notes which threads are closed.
type closes struct {
	mu      sync.Mutex
	threads []string
}

func (c *closes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Method string `json:"method"`
		Params struct {
			Thread string `json:"thread_id"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&request) == nil && request.Method == "thread/close" {
		c.mu.Lock()
		c.threads = append(c.threads, request.Params.Thread)
		c.mu.Unlock()
	}
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
}

func (c *closes) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.threads
}

// runAll runs a command and all that are in it.
func runAll(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if batch, ok := cmd().(tea.BatchMsg); ok {
		for _, cmd := range batch {
			runAll(cmd)
		}
	}
}

// A close that could still be undone is sent when the page is left, in whatever way.
func TestLeavingAThreadClosesIt(t *testing.T) {
	key := func(p *program, key tea.Key) tea.Cmd {
		now := p.now()
		return p.carryOut(now, p.page, p.page.Update(now, tea.KeyPressMsg(key)))
	}
	for name, leave := range map[string]func(p *program){
		"w":      func(p *program) { runAll(key(p, tea.Key{Code: 'w', Text: "w"})) },
		"Esc":    func(p *program) { runAll(key(p, tea.Key{Code: tea.KeyEscape})) },
		"Ctrl-C": func(p *program) { p.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); p.sendPending() },
		"q":      func(p *program) { key(p, tea.Key{Code: 'q', Text: "q"}); p.sendPending() },
	} {
		t.Run(name, func(t *testing.T) {
			server := &closes{}
			web := httptest.NewServer(server)
			defer web.Close()
			p, _ := testProgram(t, Options{Client: client.New(client.At(web.URL, client.SourceGiven, "", false))})
			defer p.client.Close()
			p.Update(waiting(3))
			p.open(noon, "thread_1")
			key(p, tea.Key{Code: 'x', Text: "x"})
			key(p, tea.Key{Code: 'y', Text: "y"}) // the thread is not read yet
			leave(p)
			p.sendPending()
			if got, want := server.taken(), []string{"thread_1"}; !reflect.DeepEqual(got, want) {
				t.Errorf("closed are %q, want %q", got, want)
			}
		})
	}
}
