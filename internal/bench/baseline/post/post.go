// Package post is the baseline of deliveries: a client of net/http that posts one
// webhook as often as it is told to, under different ids. It stores nothing, and
// keeps its connections open.
package post

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/internal/bench/receiver"
)

// Result is what Run prints. Seconds are from before the first request to the last
// answer.
type Result struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
}

// Run posts the receiver.Request in --request FILE to --url, --count times, with
// --in-flight requests at the same time.
func Run(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("post", flag.ContinueOnError)
	url := flags.String("url", "", "where to post")
	file := flags.String("request", "", "a file with the webhook, in JSON")
	count := flags.Int("count", 1000, "how many to post")
	inFlight := flags.Int("in-flight", 64, "how many at the same time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	encoded, err := os.ReadFile(*file)
	if err != nil {
		return fmt.Errorf("--request: %w", err)
	}
	var webhook receiver.Request
	if err := json.Unmarshal(encoded, &webhook); err != nil {
		return fmt.Errorf("--request: %w", err)
	}
	client := NewClient(*inFlight)
	defer client.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	began := time.Now()
	for range *inFlight {
		group.Go(func() error {
			for n := int(next.Add(1)); n <= *count; n = int(next.Add(1)) {
				if err := Send(ctx, client, *url, webhook, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(Result{Requests: *count, Seconds: time.Since(began).Seconds()})
}

// NewClient makes a client that keeps as many connections to one host.
func NewClient(connections int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true,
	}}
}

// Send posts a webhook. Its id is as long as that of the original: n replaces the
// first eight characters.
func Send(ctx context.Context, c *http.Client, url string, webhook receiver.Request, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(webhook.Body))
	if err != nil {
		return err
	}
	id := webhook.Header.Get(receiver.HeaderID)
	for name, values := range webhook.Header {
		req.Header[name] = values
	}
	req.Header[receiver.HeaderID] = []string{fmt.Sprintf("%08d", n) + id[min(8, len(id)):]}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
