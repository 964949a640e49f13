package fanout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// order is the request of Produce.
type order struct {
	Count int           `json:"count"`
	Bytes int           `json:"bytes"`
	Every time.Duration `json:"every"`
}

// Produce makes the program at an address write count lines of bytesEach bytes,
// one per interval every, and returns when each was made.
func Produce(ctx context.Context, address string, count, bytesEach int, every time.Duration) ([]time.Time, error) {
	body, err := json.Marshal(order{Count: count, Bytes: bytesEach, Every: every})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/produce", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var nanoseconds []int64
	if err := json.NewDecoder(resp.Body).Decode(&nanoseconds); err != nil || len(nanoseconds) != count {
		return nil, fmt.Errorf("%s, %d of %d lines: %w", resp.Status, len(nanoseconds), count, err)
	}
	made := make([]time.Time, count)
	for i, ns := range nanoseconds {
		made[i] = time.Unix(0, ns)
	}
	return made, nil
}

// produce answers with the times, in nanoseconds since 1970, after the last
// line.
func (s *shared) produce(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Count < 1 || o.Bytes < 1 || o.Every <= 0 {
		http.Error(w, fmt.Sprint("no such order: ", err), http.StatusBadRequest)
		return
	}
	line := append(bytes.Repeat([]byte{'x'}, o.Bytes-1), '\n')
	made := make([]int64, 0, o.Count)
	tick := time.Tick(o.Every)
	for range o.Count {
		select {
		case <-tick:
		case <-r.Context().Done():
			return
		}
		made = append(made, time.Now().UnixNano())
		s.add(line)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(made) // the client may have disconnected
}
