// Package client is the Go client of a Holon server: the one that the holon
// command takes and that programs can take too.
//
// It owns finding a server (Discover, At), sending the token to nobody else
// (PeerError), calling its methods (Client.Call for one request over POST /rpc,
// Session for many on one two-way connection) and following its log
// (Client.Subscribe). A Subscription resumes by itself: it keeps the cursor of
// the last event it handed over, reconnects with backoff when the connection
// breaks or falls silent, and drops what it has already handed over, so that
// its handler sees every event once and in order.
//
// Work may be tried again, and then some of what was handed over stands no
// longer (docs/rewind.md). Subscription.Follow folds the events into a
// fold.View on their way and says of each what it did to it.
//
// It never decodes what it does not need: an Event keeps the bytes that came,
// and unknown methods, fields and values pass through untouched. Of the
// server's packages it imports notify and host, libraries, at most; it writes to no
// standard stream and keeps no state outside the values it returns.
package client
