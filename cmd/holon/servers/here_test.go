package servers

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

// TestOnlyAServerOfThisMachineGetsTheDirectory is about who is taken for a server of this
// machine by what its server.json, or its entry, says.
func TestOnlyAServerOfThisMachineGetsTheDirectory(t *testing.T) {
	const url, socket, log = "http://127.0.0.1:8080", "unix:/run/user/1000/holon.sock", "log_1"
	own, dead := host.Self(), host.Self()
	dead.StartTicks++ // the number is that of another process now, as in another container
	other := own
	other.BootID = "of another machine"
	is := client.ServerRecord{Process: own, URLs: []string{url, socket}, LogID: log}
	with := func(p host.Process) client.ServerRecord {
		r := is
		r.Process = p
		return r
	}
	for name, c := range map[string]struct {
		record   client.ServerRecord
		url, log string
		want     bool
	}{
		"it":                              {is, url, log, true},
		"it, written otherwise":           {is, "HTTP://127.0.0.1:8080/", log, true},
		"it, by the name of its address":  {is, "http://LocalHost:8080", log, true},
		"another port of that name":       {is, "http://localhost:9090", log, false},
		"its socket":                      {is, socket, log, true},
		"a tunnel on another port":        {is, "http://127.0.0.1:9090", log, false},
		"a tunnel where it was":           {is, url, "log_2", false},
		"a server that says no log":       {is, url, "", false},
		"a process that has ended":        {with(dead), url, log, false},
		"a container, or another machine": {with(other), url, log, false},
		"no process":                      {with(host.Process{}), url, log, false},
	} {
		t.Run(name, func(t *testing.T) {
			if own.BootID == "" && !c.want {
				t.Skip("the system does not say when a process was started")
			}
			data, runtime := t.TempDir(), At(t.TempDir())
			if Here(runtime, data, c.url, c.log) {
				t.Error("there is nothing yet")
			}
			if err := runtime.Add(Entry{ServerRecord: c.record, Data: filepath.Join(data, "elsewhere")}); err != nil {
				t.Fatal(err)
			}
			if got := Here(runtime, data, c.url, c.log); got != c.want {
				t.Errorf("by its entry: %v", got)
			}
			text, err := json.Marshal(c.record)
			if err := errors.Join(err, os.WriteFile(client.ServerFile(data), text, 0o600)); err != nil {
				t.Fatal(err)
			}
			if Here("", data, c.url, c.log) {
				t.Error("by a server.json, and no process has the data directory open")
			}
			store, err := sqlite.Open(sqlite.Options{Dir: data})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if got := Here("", data, c.url, c.log); got != c.want {
				t.Errorf("by its server.json: %v", got)
			}
		})
	}
}
