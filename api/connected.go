package api

import "context"

// A client that ends its half of a connection may have left, or may still read
// (nc -N). The server cannot tell. It executes and answers the client's
// requests all the same, so the context of a request does not end then. A
// method whose result would be lost on a client that has left uses
// untilDisconnect.

type connectedKey struct{}

// WithConnected returns the context of a request that came on a connection:
// connected ends when its client closes its half.
func WithConnected(ctx, connected context.Context) context.Context {
	return context.WithValue(ctx, connectedKey{}, connected)
}

// untilDisconnect returns a context that ends with ctx, or with
// context.Canceled when the client has ended its half of the connection. The
// caller must call cancel.
func untilDisconnect(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	connected, ok := ctx.Value(connectedKey{}).(context.Context)
	if !ok {
		return ctx, end
	}
	stop := context.AfterFunc(connected, end)
	return ctx, func() { stop(); end() }
}
