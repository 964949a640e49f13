package kindstest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Fault is a way in which a target fails.
type Fault string

// The faults.
const (
	Hangs               Fault = "hangs"                 // reads the request and answers nothing
	SlowAnswer          Fault = "slow_answer"           // 200, and then a few bytes without an end
	CutAnswer           Fault = "cut_answer"            // 200, and then the end of the connection
	EndlessAnswer       Fault = "endless_answer"        // 200, and bytes without an end
	HugeAnswer          Fault = "huge_answer"           // 200, and 1 MiB
	Nonsense            Fault = "nonsense"              // 200, and what is no answer of the API
	ResetsBeforeReading Fault = "resets_before_reading" // resets the connection at once
	ResetsAfterReading  Fault = "resets_after_reading"
	LosesAnswer         Fault = "loses_answer" // does what it was asked to do, and resets the connection
	Redirects           Fault = "redirects"    // 301 to another path of its own
	SeesOther           Fault = "sees_other"   // 303
	Refuses             Fault = "refuses"      // 400
	IsGone              Fault = "is_gone"      // 410
	LimitsBySeconds     Fault = "limits_by_seconds"
	LimitsByDate        Fault = "limits_by_date"
	LimitsForYears      Fault = "limits_for_years"
	LimitsWithoutTime   Fault = "limits_without_time"
	Breaks              Fault = "breaks"             // 500
	IsBusy              Fault = "is_busy"            // 503 with Retry-After
	EchoesBack          Fault = "echoes_back"        // 400, and all of the request
	NotOK               Fault = "not_ok"             // slack: ok is false, with a word that it does not document
	SwitchesProtocols   Fault = "switches_protocols" // 101, and then a few bytes without an end
	WrongCertificate    Fault = "wrong_certificate"
	NobodyListens       Fault = "nobody_listens"
)

// Elsewhere is where Redirects sends to.
const Elsewhere = "/elsewhere"

// LimitedFor is what LimitsBySeconds and LimitsByDate ask for.
const LimitedFor = 30 * time.Minute

// fail answers a request as a fault says.
func (l *Listener) fail(p planned, w http.ResponseWriter, r *http.Request, body []byte) {
	status := func(code int) {
		w.WriteHeader(code)
		fmt.Fprintln(w, "it does not work")
		close(p.busy)
	}
	switch p.fault {
	case Hangs:
		close(p.busy)
		l.wait(r)
	case SlowAnswer:
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, `{"ok"`)
		_ = http.NewResponseController(w).Flush()
		close(p.busy)
		l.wait(r)
	case CutAnswer:
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, `{"ok"`)
		close(p.busy)
	case EndlessAnswer:
		w.WriteHeader(http.StatusOK)
		close(p.busy)
		for chunk := []byte(strings.Repeat("x", 4096)); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	case HugeAnswer:
		close(p.busy)
		fmt.Fprint(w, strings.Repeat("x", 1<<20))
	case Nonsense:
		close(p.busy)
		fmt.Fprint(w, "<html>Welcome to the network of this hotel.</html>")
	case ResetsAfterReading:
		l.reset(w)
		close(p.busy)
	case LosesAnswer:
		l.handler.ServeHTTP(httptest.NewRecorder(), r)
		l.reset(w)
		close(p.busy)
	case Redirects:
		w.Header().Set("Location", l.URL+Elsewhere)
		status(http.StatusMovedPermanently)
	case SeesOther:
		w.Header().Set("Location", l.URL+Elsewhere)
		status(http.StatusSeeOther)
	case Refuses:
		status(http.StatusBadRequest)
	case IsGone:
		status(http.StatusGone)
	case LimitsBySeconds:
		w.Header().Set("Retry-After", fmt.Sprint(int(LimitedFor/time.Second)))
		status(http.StatusTooManyRequests)
	case LimitsByDate:
		w.Header().Set("Retry-After", time.Now().Add(LimitedFor).UTC().Format(http.TimeFormat))
		status(http.StatusTooManyRequests)
	case LimitsForYears:
		w.Header().Set("Retry-After", strings.Repeat("9", 40))
		status(http.StatusTooManyRequests)
	case LimitsWithoutTime:
		status(http.StatusTooManyRequests)
	case Breaks:
		status(http.StatusInternalServerError)
	case IsBusy:
		w.Header().Set("Retry-After", "120")
		status(http.StatusServiceUnavailable)
	case EchoesBack:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "%s %s\n", r.Method, r.URL)
		_ = r.Header.Write(w)
		_, _ = w.Write(body)
		close(p.busy)
	case SwitchesProtocols:
		l.switchProtocols(p, w)
	case NotOK:
		fmt.Fprint(w, `{"ok":false,"error":"no_such_word"}`)
		close(p.busy)
	default:
		panic("no listener can fail like that: " + string(p.fault))
	}
}

// wait waits until the other side has left.
func (l *Listener) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-l.stop:
	}
}

// switchProtocols confirms that the connection now speaks another protocol, and keeps it.
func (l *Listener) switchProtocols(p planned, w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n{\"ok\"")
	close(p.busy)
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, c)
	}()
	select {
	case <-left:
	case <-l.stop:
		c.Close()
		<-left
	}
}

// reset resets the connection of a request.
func (l *Listener) reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	hardClose(c)
}
