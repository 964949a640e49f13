package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/bench/process"
	"github.com/seed82539d15/holon/rpc/client"
)

// startLimit is how long a server may take to be ready.
const startLimit = time.Minute

// server is a running holon serve with its clients.
type server struct {
	*process.Process
	dir     string
	address string // HOST:PORT
	ready   time.Duration
	client  *client.Client
	pprof   *http.Client // over the unix socket of its profiles
}

// serve starts a server on the data directory dir and waits until it is ready.
// ready is how long that took, to about a millisecond. flags are further ones.
func (r *run) serve(ctx context.Context, dir string, flags ...string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	profiles := filepath.Join(dir, "pprof.sock")
	if len(profiles) > 100 { // the limit of a socket's address
		return nil, fmt.Errorf("%s is too long a path for a socket: choose another directory", profiles)
	}
	// A file of another server would be mistaken for this one's.
	if err := os.Remove(client.ServerFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	began := time.Now()
	p, err := process.Start(process.Command{
		Name: "serve", Path: r.o.Executable, Dir: r.dir, Env: process.Environ(r.dir), Term: process.Terminate,
		Args: append([]string{"serve", "--listen", "127.0.0.1:0", "--data", dir, "--auth", "none", "--log-level", "warn", "--pprof", profiles}, flags...),
	})
	if err != nil {
		return nil, err
	}
	r.children = append(r.children, p)
	s := &server{Process: p, dir: dir, pprof: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", profiles)
		},
		DisableKeepAlives: true,
	}}}
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	s.ready = time.Since(began)
	return s, nil
}

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.Tick(time.Millisecond)
	for {
		if s.client == nil {
			if record, err := client.ReadServerFile(s.dir); err == nil {
				for _, url := range record.URLs {
					if address, ok := strings.CutPrefix(url, "http://"); ok {
						s.address = strings.TrimSuffix(address, "/")
						s.client = client.New(client.At(url, "given", "", false))
					}
				}
			}
		}
		if s.client != nil && s.client.Ready(ctx) == nil {
			return nil
		}
		select {
		case <-tick:
		case <-s.Running():
			return errors.New("the server ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %w", ctx.Err())
		}
	}
}

// stop ends the server in order, so that its log is written back.
func (s *server) stop() error {
	s.client.Close()
	return s.Stop()
}

// status has the members of holon/status that the measures use.
type status struct {
	LatestSeq int64 `json:"latest_seq"`
	Turns     struct {
		Queued int64 `json:"queued"`
		Active int64 `json:"active"`
	} `json:"turns"`
}

func (s *server) status(ctx context.Context) (st status, err error) {
	err = s.client.Call(ctx, "holon/status", nil, &st)
	return st, err
}

// rawStatus returns the result of holon/status as sent.
func (s *server) rawStatus(ctx context.Context) (raw json.RawMessage, err error) {
	err = s.client.Call(ctx, "holon/status", nil, &raw)
	return raw, err
}

// metric returns the sum of all lines of a metric.
func (s *server) metric(ctx context.Context, name string) (sum float64, err error) {
	var text strings.Builder
	if err := get(ctx, http.DefaultClient, "http://"+s.address+"/metrics", &text); err != nil {
		return 0, err
	}
	found := false
	for line := range strings.Lines(text.String()) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return sum, nil
}

// collect makes the server collect its garbage.
func (s *server) collect(ctx context.Context) error {
	return get(ctx, s.pprof, "http://pprof/debug/pprof/heap?gc=1", io.Discard)
}

// get writes the body of a response.
func get(ctx context.Context, c *http.Client, url string, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	_, err = io.Copy(to, resp.Body)
	return err
}

// profileSeconds is how long a profile of --profiles lasts.
const profileSeconds = 2

// profile takes a CPU profile of the server from now on, if Options.Profiles is
// set, and returns a function that waits for it.
func (r *run) profile(ctx context.Context, s *server, name string) func() error {
	if r.o.Profiles == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		f, err := os.Create(filepath.Join(r.o.Profiles, name+".pprof"))
		if err == nil {
			url := fmt.Sprintf("http://pprof/debug/pprof/profile?seconds=%d", profileSeconds)
			err = errors.Join(get(ctx, s.pprof, url, f), f.Close())
		}
		done <- err
	}()
	return func() error { return <-done }
}
