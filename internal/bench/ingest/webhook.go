package ingest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// webhooks makes a client that sends webhooks of GitHub: a review comment each.
func (f *Flood) webhooks(client int) (send, func()) {
	plain := &http.Client{Transport: &http.Transport{}}
	url := "http://" + f.Address + "/hooks/" + f.Sources[client%len(f.Sources)]
	return func(ctx context.Context, n int) (bool, error) {
		body, err := reviewComment(fmt.Sprintf("%s-%d-%d", f.Round, client, n), n)
		if err != nil {
			return false, err
		}
		switch status, err := f.post(ctx, plain, url, body); {
		case err != nil:
			return false, err
		case status == http.StatusAccepted:
			return true, nil
		case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
			return false, nil
		default:
			return false, fmt.Errorf("a webhook was answered with %d", status)
		}
	}, plain.CloseIdleConnections
}

// reviewComment returns the fields that are read of GitHub's webhook, in about as many bytes
// as an item of the other flood.
func reviewComment(id string, n int) ([]byte, error) {
	user := map[string]any{"login": "ann"}
	return json.Marshal(map[string]any{
		"action": "created", "sender": user, "repository": map[string]any{"full_name": "ann/app"},
		"pull_request": map[string]any{"number": n%8 + 1, "title": "A change"},
		"comment":      map[string]any{"node_id": id, "user": user, "body": strings.Repeat("x", floodPayload)},
	})
}

func (f *Flood) post(ctx context.Context, c *http.Client, url string, body []byte) (status int, err error) {
	mac := hmac.New(sha256.New, []byte(f.Secret))
	mac.Write(body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "pull_request_review_comment")
	req.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", mac.Sum(nil)))
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
