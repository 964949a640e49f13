package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/rpc/admission"
)

const stdio = "stdio"

// listener is one address where the server listens, with its own admission
// rules.
type listener struct {
	net.Listener
	url    string
	server *http.Server
}

// checkListeners refuses unsafe listeners, before anything is opened.
func (d *daemon) checkListeners() error {
	if len(d.cfg.Listen) == 0 {
		return errors.New("listen is empty: name at least one listener, such as --listen 127.0.0.1:8080")
	}
	for _, at := range d.cfg.Listen {
		if at == stdio {
			continue
		}
		kind, err := admission.KindOf(at)
		if err != nil {
			return err
		}
		if err := d.policy(at, kind).Check(); err != nil {
			return err
		}
	}
	return nil
}

func (d *daemon) policy(at string, kind admission.Kind) admission.Policy {
	return admission.Policy{
		Mode: admission.Mode(d.cfg.Auth), Token: d.token, Listen: at, Kind: kind,
		Tokens: d.admit, AllowOrigins: d.cfg.AllowOrigin, AllowHosts: d.cfg.AllowHost,
		TLS: d.cfg.TLSCert != "" && kind != admission.Unix, BehindProxy: d.cfg.BehindProxy,
	}
}

// listen opens all listeners, or none.
func (d *daemon) listen() error {
	for _, at := range d.cfg.Listen {
		if at == stdio {
			continue
		}
		l, err := d.open(at)
		if err != nil {
			d.closeListeners()
			return fmt.Errorf("listen on %s: %w", at, err)
		}
		d.listeners = append(d.listeners, l)
	}
	return nil
}

// noCertificate explains why a certificate and its key cannot be used.
func noCertificate(cert, key string, err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "in certificate input"):
		return fmt.Errorf("%s (--tls-cert) has no certificate in the form of PEM, which begins with -----BEGIN CERTIFICATE-----", cert)
	case strings.Contains(text, "in key input"):
		return fmt.Errorf("%s (--tls-key) has no private key in the form of PEM, which begins with -----BEGIN PRIVATE KEY-----", key)
	case strings.Contains(text, "does not match"):
		return fmt.Errorf("the key in %s (--tls-key) is not that of the certificate in %s (--tls-cert)", key, cert)
	}
	return fmt.Errorf("read %s (--tls-cert) and %s (--tls-key): %w", cert, key, err)
}

func (d *daemon) open(at string) (*listener, error) {
	l := &listener{}
	var err error
	path, isUnix := strings.CutPrefix(at, "unix:")
	if isUnix {
		l.Listener, err = admission.ListenUnix(path)
		l.url = at
	} else {
		l.Listener, err = net.Listen("tcp", at)
		// The caller names the address.
		if wrong, ok := errors.AsType[*net.AddrError](err); ok {
			err = errors.New(wrong.Err)
		} else if wrong, ok := errors.AsType[*os.SyscallError](err); ok {
			err = wrong.Err
		}
	}
	if err != nil {
		return nil, err
	}
	kind := admission.KindOfAddr(l.Addr())
	policy := d.policy(at, kind)
	if err := policy.Check(); err != nil { // the name may have resolved to another kind of address
		return nil, errors.Join(err, l.Close())
	}
	for _, w := range policy.Warnings() {
		d.log.Warn(w, zap.String("listen", at))
	}
	gate, err := admission.New(policy)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	gate = gate.Observe(d.refused)
	l.Listener = d.wire.Listener(l.Listener)
	scheme := "http://"
	if d.cfg.TLSCert != "" && !isUnix {
		cert, err := tls.LoadX509KeyPair(d.cfg.TLSCert, d.cfg.TLSKey)
		if err != nil {
			return nil, errors.Join(noCertificate(d.cfg.TLSCert, d.cfg.TLSKey, err), l.Close())
		}
		scheme = "https://"
		// HTTP/1.1 only: a two-way stream over HTTP/2 would need its own rules.
		l.Listener = tls.NewListener(l.Listener, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	if !isUnix {
		l.url = scheme + reachable(l.Addr())
	}
	l.server = d.httpServer(gate, kind)
	return l, nil
}

// refused counts a refused request with the other errors.
func (d *daemon) refused(r admission.Refusal) { d.wire.CountError(api.Kind(r.Kind)) }

// consoleURLs returns the addresses of the console: the public one, and those for browsers on
// this machine. Behind a proxy there is only the public one, or that of the first allowed
// host, or none.
func (d *daemon) consoleURLs() (urls []string) {
	if d.console == nil {
		return nil
	}
	if at := d.cfg.ConsoleURL(); at != "" {
		urls = append(urls, at+"/")
	}
	if d.cfg.BehindProxy {
		if len(urls) == 0 && len(d.cfg.AllowHost) > 0 {
			urls = append(urls, "https://"+d.cfg.AllowHost[0]+"/")
		}
		return urls
	}
	for _, l := range d.listeners {
		if u := l.url + "/"; !strings.HasPrefix(u, "unix:") && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

// reachable returns the address that clients on this machine use: loopback for a
// listener on all addresses.
func reachable(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || !t.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(t.Port))
}

// serveListeners serves until run is done. The channel is closed when the input
// of stdio has ended and there is no other listener: time to drain.
func (d *daemon) serveListeners(run context.Context, group *errgroup.Group) <-chan struct{} {
	for _, l := range d.listeners {
		group.Go(func() error {
			if err := l.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.url, err)
			}
			return nil
		})
	}
	ended := make(chan struct{})
	if slices.Contains(d.cfg.Listen, stdio) {
		var inputEnded func() // nil: that client's stream ends, the server continues
		if len(d.listeners) == 0 {
			inputEnded = sync.OnceFunc(func() { close(ended) })
		}
		group.Go(func() error {
			// If its output cannot be written, that client has left, which
			// counts as the end of its input.
			done := make(chan error, 1)
			go func() { done <- d.wire.ServeStdio(run, d.Stdin, d.Stdout, inputEnded) }()
			select {
			case err := <-done:
				if err != nil && run.Err() == nil {
					d.log.Info("the client on stdio has left", zap.Error(err))
				}
			case <-run.Done():
				leaveStdio(done)
			}
			if inputEnded != nil {
				inputEnded()
			}
			return nil
		})
	}
	return ended
}

// stdioGrace is how long a client on stdio may take once everything has ended.
const stdioGrace = 300 * time.Millisecond

// leaveStdio waits for the end of the client on stdio, at most stdioGrace: a
// write that the client does not read cannot be interrupted, because a pipe has
// no deadline. The process is about to end.
func leaveStdio(done <-chan error) {
	timer := time.NewTimer(stdioGrace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// closeListeners closes the listeners and their connections. It may be called
// twice.
func (d *daemon) closeListeners() {
	if d.pprof != nil {
		// The server first: otherwise it would report the closed listener as an error.
		_ = d.pprof.server.Close()
		_ = d.pprof.Close() // already closed if it was served
	}
	for _, l := range d.listeners {
		if l.server == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if err := l.server.Shutdown(ctx); err != nil {
			_ = l.server.Close() // cut them: they had time in the drain
		}
		cancel()
		_ = l.Close() // Shutdown has closed it if it was served
	}
}

// openPprof listens for profiles on a separate unix socket, if one is
// configured: profiles reveal secrets, so no other listener serves them.
func (d *daemon) openPprof() error {
	if d.cfg.Pprof == "" {
		return nil
	}
	l, err := admission.ListenUnix(strings.TrimPrefix(d.cfg.Pprof, "unix:"))
	if err != nil {
		return fmt.Errorf("listen on the pprof socket: %w", err)
	}
	gate, err := admission.New(admission.Policy{Mode: admission.Auto, Token: d.token, Listen: d.cfg.Pprof, Kind: admission.Unix})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	d.pprof = &listener{Listener: d.wire.Listener(l), server: d.wire.HTTPServer(gate.Middleware(pprofMux()), gate.ConnContext)}
	return nil
}

func (d *daemon) servePprof(run context.Context, group *errgroup.Group) {
	if d.pprof == nil {
		return
	}
	group.Go(func() error {
		if err := d.pprof.server.Serve(d.pprof); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve pprof: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-run.Done()
		_ = d.pprof.server.Close() // closeListeners may have closed it before
		return nil
	})
}
