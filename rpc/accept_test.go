package rpc

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// refusing is a listener of which the kernel gives connections only after some errors.
type refusing struct {
	net.Listener
	errors []error
}

func (l *refusing) Accept() (net.Conn, error) {
	if len(l.errors) == 0 {
		return l.Listener.Accept()
	}
	err := l.errors[0]
	l.errors = l.errors[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

// What cannot be accepted is a warning, though not one for each try, and is tried again.
func TestFailuresToAcceptAreWarnedOfAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		l := &pipes{arrived: make(chan net.Conn), closed: make(chan struct{})}
		failing := append(slices.Repeat([]error{syscall.EMFILE}, 40), syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM)
		r := newRigOn(t, &refusing{l, failing}, newMemory(0), func(c *Config) { c.Log = zap.New(core) })
		r.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return l.dial() }
		begin := time.Now()
		resp, err := r.client.Get(r.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		registry := prometheus.NewRegistry()
		registry.MustRegister(r.server.Collector())
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var counted float64
		for _, f := range families {
			if f.GetName() == "holon_accept_errors_total" {
				counted = f.Metric[0].GetCounter().GetValue()
			}
		}
		if counted != float64(len(failing)) {
			t.Errorf("%v failures are counted, of %d", counted, len(failing))
		}
		var times int64
		for _, e := range logs.All() {
			if e.Message != "a connection could not be accepted" || e.ContextMap()["error"] == "" {
				t.Errorf("%v", e)
			}
			times += e.ContextMap()["times"].(int64)
		}
		if n := logs.Len(); n < 2 || time.Duration(n-1)*acceptWarnings > time.Since(begin) || times < int64(len(failing))-10 {
			t.Errorf("%d warnings in %s, of %d failures", n, time.Since(begin), times)
		}
	})
}
