package bench

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/bench/receiver"
)

func TestWebhookThatIsMissingOrComesTwiceIsAnError(t *testing.T) {
	for _, c := range []struct {
		came receiver.Counts
		fine bool
	}{
		{receiver.Counts{Requests: 5, Distinct: 5}, true},
		{receiver.Counts{Requests: 6, Distinct: 5}, false},
		{receiver.Counts{Requests: 5, Distinct: 4}, false},
		{receiver.Counts{Requests: 6, Distinct: 6}, false},
	} {
		if err := once(c.came, 5); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c.came, err)
		}
	}
}

func TestHangingTargetAnswersOnlyWhenItIsReleased(t *testing.T) {
	h := newHanging()
	for range 2 { // blocks
		full := h.hold()
		answered := make(chan int, hungSlots)
		for range hungSlots {
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("POST", "/hook", http.NoBody))
				answered <- w.Code
			}()
		}
		<-full
		if come, held := h.counts(); come != hungSlots || held != hungSlots || len(answered) != 0 {
			t.Fatalf("%d came, %d hang, %d are answered", come, held, len(answered))
		}
		h.release()
		h.release() // as a failed block does
		for range hungSlots {
			if code := <-answered; code != http.StatusNoContent {
				t.Errorf("answered with %d", code)
			}
		}
	}
}

// An attempt whose time is over ends its request: then the block did not measure what
// it was to measure.
func TestHangingTargetSeesThatARequestIsCut(t *testing.T) {
	h := newHanging()
	address, stop, err := serveHere(h)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer h.release()
	client := &http.Client{Transport: &http.Transport{}}
	full := h.hold()
	for range hungSlots {
		go func() {
			if resp, err := client.Post("http://"+address+"/hook", "application/json", strings.NewReader("{}")); err == nil {
				_ = resp.Body.Close()
			}
		}()
	}
	<-full
	stop()
	limit := time.After(10 * time.Second)
	for {
		come, held := h.counts()
		if held == 0 && come == hungSlots {
			return
		}
		select {
		case <-limit:
			t.Fatalf("%d came, %d hang", come, held)
		case <-time.After(time.Millisecond):
		}
	}
}
