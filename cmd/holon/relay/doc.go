// Package relay copies lines between a client on stdin and stdout and the two-way stream
// of a server, and keeps one conversation over several connections.
//
// A connection that is cut without stream/closing, or silent for too long (client.Watch), is
// opened again. The subscription goes on after the last seq that was passed on, under the
// same filter; requests that were not answered are sent again if that is harmless
// (api.Repeatable), and are answered with outcome_unknown otherwise. Each request is answered
// at most once, and no line is passed on in part.
//
// It never decodes more of a line than it needs, and passes every line on as it came.
package relay
