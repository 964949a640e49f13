// Package client is the Go client of a Holon server, for the holon command and
// for programs.
//
// It finds a server (Discover, At), sends the token to no other user's program
// (PeerError), calls methods (Client.Call for one request over POST /rpc,
// Session for many on one two-way connection) and follows the log
// (Client.Subscribe). A Subscription resumes by itself. It keeps the cursor of
// the last event it delivered, and reconnects with backoff when the connection
// breaks or falls silent. It drops events that it has already delivered, so its
// handler sees every event once and in order. Package wire has the types of
// params, results and events.
//
// Work may be retried; then some of the delivered events are superseded
// (docs/rewind.md). Subscription.Follow folds the events into a fold.View and
// delivers each with the change it made to the view.
//
// It decodes only what it needs: an Event keeps the received bytes, and unknown
// methods, fields and values pass through unchanged. Of the server's packages
// it imports libraries only (notify, host). It writes to no standard stream and
// keeps no state outside the values it returns.
package client
