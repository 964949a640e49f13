package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/cmd/holon/servers"
	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/rpc/client"
)

// announce writes server.json, by which clients on this machine find the
// server, and prints commands to try.
func (d *daemon) announce() error {
	urls := make([]string, 0, len(d.listeners))
	for _, l := range d.listeners {
		urls = append(urls, l.url)
	}
	if len(urls) > 0 {
		d.agents.url.Store(&urls[0])
	}
	position, err := d.store.Reader().Position(context.Background())
	if err != nil {
		return err
	}
	self := client.ServerRecord{Process: host.Self(), URLs: urls, LogID: position.LogID, PublicURL: d.cfg.ConsoleURL(), LeftOut: d.leftOut, Path: os.Getenv("PATH")}
	// Without the entry the dashboard of another data directory does not list this server.
	if err := d.Servers.Add(servers.Entry{ServerRecord: self, Data: d.cfg.Data}); err != nil {
		d.log.Warn("enter this server into the registry", zap.Error(err))
	}
	record, err := json.Marshal(self)
	if err != nil {
		return err
	}
	if err := writeWhole(client.ServerFile(d.cfg.Data), record); err != nil {
		return fmt.Errorf("write server.json: %w", err)
	}
	for _, u := range urls {
		d.say("holon %s is serving on %s (data in %s, log %s, %d events)", d.Version, u, d.cfg.Data, position.LogID, position.Latest)
	}
	if d.DataByDefault {
		d.sayDataHere()
	}
	if known, err := dismissed(context.Background(), d); err == nil {
		sayLeft(context.Background(), d, known, "")
	}
	if d.Welcome != nil {
		d.welcome()
		return nil
	}
	for _, u := range d.consoleURLs() {
		d.say("console: %s", u)
	}
	if !d.Text {
		return nil
	}
	for _, u := range urls {
		if strings.HasPrefix(u, "http://") {
			header := ""
			if d.cfg.Auth == "token" {
				header = "-H @" + filepath.Join(d.cfg.Data, "curl-header") + " "
			}
			d.say("try: %s run --data %s \"hello\"", program(), d.cfg.Data)
			d.say("watch: curl -N %s'%s/rpc/stream?after_seq=0'", header, u)
			break
		}
	}
	return nil
}

// sayDataHere names a log in the directory "data" of the working directory, where earlier
// servers of a checkout had it, if this server uses another one.
func (d *daemon) sayDataHere() {
	const dir = "data"
	if _, err := os.Stat(filepath.Join(dir, sqlite.FileName)); err != nil {
		return
	}
	here, err := os.Stat(dir)
	if err != nil {
		return
	}
	if used, err := os.Stat(d.cfg.Data); err == nil && os.SameFile(here, used) {
		return
	}
	d.say("The log in ./data is not used. To serve it: %s serve --data data", shellWord(program()))
}

// program returns the command with which the user can start this program again.
func program() string {
	if typed := os.Args[0]; !strings.ContainsRune(typed, filepath.Separator) {
		return typed // a shell found it
	}
	exe, err := os.Executable()
	if err != nil {
		return "holon"
	}
	if wd, err := os.Getwd(); err == nil && wd != "/" {
		if rel, err := filepath.Rel(wd, exe); err == nil && !strings.HasPrefix(rel, "..") {
			return "./" + rel
		}
	}
	return exe
}

// writeWhole replaces a file so that a reader sees the old or the new one. It
// is not synced: after a crash the file names a process that is gone.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data) // CreateTemp gives it mode 0600
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
