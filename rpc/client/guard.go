package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/backoff"
	"github.com/seed82539d15/holon/internal/host"
)

// PeerError says that the token was not sent, because the program that listens
// at Address belongs to another user, or because its user is not known. Nothing
// else was sent either.
type PeerError struct {
	Address string
	// UID is the user who listens there. It has no meaning if Err is set.
	UID uint32
	// Err is why the user is not known.
	Err error
}

// Error reports who listens, or why that is not known.
func (e *PeerError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("who listens at %s cannot be looked up, so the token was not sent: %v", e.Address, e.Err)
	}
	return fmt.Sprintf("the program that listens at %s belongs to another user (uid %d), so the token was not sent", e.Address, e.UID)
}

// Unwrap returns why the user is not known, nil if it is.
func (e *PeerError) Unwrap() error { return e.Err }

// ClearTextError says that the token was not sent to URL, because others could read
// plain http on its way to another machine. Nothing else was sent either. Address is
// the other machine, if a name of this one turned out to be one; else it is empty.
type ClearTextError struct{ URL, Address string }

// Error names the URL.
func (e *ClearTextError) Error() string {
	if e.Address != "" {
		return fmt.Sprintf("%s leads to another machine (%s), so the token was not sent: it would go there in plain http", e.URL, e.Address)
	}
	return fmt.Sprintf("%s is plain http to another machine, so the token was not sent", e.URL)
}

// check reports whether the token may go to the URL at all.
func (e Endpoint) check() error {
	if e.Token == "" {
		return nil
	}
	if err := CheckToken(e.Token); err != nil {
		return err
	}
	return MayGetToken(e.URL)
}

// MayGetToken returns nil if a token may be sent to a URL at all: over https, to this
// machine, where the user who listens is looked up, and to unix sockets. Else it is a
// *ClearTextError.
func MayGetToken(url string) error {
	if isTLS(url) || isLocal(url) {
		return nil
	}
	return &ClearTextError{URL: url}
}

// CheckToken checks that a text can be a token: characters that are allowed in an
// Authorization header (RFC 6750, b64token), at most 4,096. The error does not quote
// it.
func CheckToken(text string) error {
	if text == "" || len(text) > maxTokenBytes {
		return fmt.Errorf("a token has 1 to %d characters, this one has %d", maxTokenBytes, len(text))
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/=", c) >= 0:
		default:
			return fmt.Errorf("a token is made of letters, digits and -._~+/=, and the character at position %d of this one is not", i+1)
		}
	}
	return nil
}

// guarded reports whether the listening user must be looked up before a request
// is sent: the request carries a token, and no certificate identifies the
// server.
func (e Endpoint) guarded() bool { return e.Token != "" && !isTLS(e.URL) }

// maySee reports whether a user may see the token: that is a user who could read
// its file anyway.
func (e Endpoint) maySee(uid uint32) bool {
	return uid == 0 || uid == e.user || int64(uid) == int64(os.Geteuid())
}

// DialContext connects to an address of the client's server as the client
// itself does. A connection that is to carry the token in clear within this
// machine is returned only if the other end belongs to a user who may read the
// token anyway. Otherwise the error is a *PeerError. network is tcp or unix.
func (c *Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	endpoint, err := c.Endpoint()
	if err != nil {
		return nil, err
	}
	if !endpoint.guarded() {
		return dial(ctx, network, address)
	}
	return c.dialGuarded(ctx, network, address)
}

// dialGuarded connects for requests that carry the token, even if the endpoint
// has changed since they were made.
func (c *Client) dialGuarded(ctx context.Context, network, address string) (net.Conn, error) {
	endpoint, err := c.Endpoint()
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := endpoint.checkPeer(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkPeer returns nil if the token may be sent on a connection in clear. It cannot
// check connections on systems that do not report peers.
func (e Endpoint) checkPeer(ctx context.Context, conn net.Conn) error {
	remote := conn.RemoteAddr()
	if tcp, ok := remote.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return &ClearTextError{URL: e.URL, Address: remote.String()}
	}
	uid, err := acceptedBy(ctx, conn)
	switch {
	case errors.Is(err, host.ErrNoUser):
		return err // there may be no server any more
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return &PeerError{Address: remote.String(), Err: err}
	case !e.maySee(uid):
		return &PeerError{Address: remote.String(), UID: uid}
	}
	return nil
}

// acceptTimeout bounds the wait for a server to accept a connection, and looks are
// the waits between two looks: the kernel connects before that, and then does not
// yet say which user will own the connection.
const acceptTimeout = dialTimeout

var looks = backoff.Backoff{First: 200 * time.Microsecond, Max: 20 * time.Millisecond}

// acceptedBy waits until a connection is accepted and returns the user who
// accepted it.
func acceptedBy(ctx context.Context, conn net.Conn) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	for look := 1; ; look++ {
		uid, err := host.PeerUID(conn)
		if !errors.Is(err, host.ErrNoUser) {
			return uid, err
		}
		if pause(ctx, looks.Wait(look), nil) != nil {
			return 0, fmt.Errorf("nobody has taken the connection: %w", err)
		}
	}
}
