package dashboard

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// A server that cannot store anything holds its turns without an event, so they look as
// if they worked. It is asked while something works, and until it can again.
const (
	storageAfter = 2 * time.Second
	storageEvery = 15 * time.Second
)

// storage says why the server cannot store anything, as the kind of error that commands
// get; "" if it can.
type storage string

const (
	storageFull   storage = "storage_full"
	storageFailed storage = "storage_failed"
)

// storageOf returns what an error says of the server's storage, "" if nothing.
func storageOf(err error) storage {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return ""
	}
	for _, why := range []storage{storageFull, storageFailed} {
		if refused.Kind == string(why) || refused.Reason == string(why) {
			return why
		}
	}
	return ""
}

// readStorage asks whether the server can store anything: rarely, and at once after a
// request was refused because it cannot. It ends when the server does not say it.
func (f *feed) readStorage(ctx context.Context) {
	timer := time.NewTimer(storageAfter)
	defer timer.Stop()
	var known storage
	for {
		select {
		case <-f.unstored:
		case <-timer.C:
			if timer.Reset(storageEvery); known == "" && !f.anyWorks() {
				continue
			}
		case <-ctx.Done():
			return
		}
		f.requests.Add(1)
		err := f.ready(ctx)
		var refused *client.Error
		if ctx.Err() != nil || err != nil && !errors.As(err, &refused) {
			continue // there is no connection
		}
		known = storageOf(err)
		f.send(known)
		if err != nil && refused.HTTPStatus != http.StatusServiceUnavailable {
			return
		}
	}
}

// anyWorks reports whether a thread is listed that works.
func (f *feed) anyWorks() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.busy) > 0
}
