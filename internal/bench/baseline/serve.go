package baseline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
)

// Ready is the first line of a baseline that listens: its address.
type Ready struct {
	Address string `json:"address"`
}

// Serve listens on a free port of the loopback interface, prints its address on
// out and calls serve, which returns when the listener is closed: at the end of
// in (the parent has exited or closed it) or when ctx is done.
func Serve(ctx context.Context, in io.Reader, out io.Writer, serve func(net.Listener) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // the end of the input ends the program
		cancel()
	}()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	if err := json.NewEncoder(out).Encode(Ready{Address: l.Addr().String()}); err != nil {
		return err
	}
	if err := serve(l); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
