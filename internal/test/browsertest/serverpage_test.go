package browsertest

import "testing"

// The server's page has status, lag, sizes and limits, and pauses the server.
func TestTheServersPage(t *testing.T) {
	each(t, func(t *testing.T, f form) {
		s := serve(t, "")
		p := open(t, s, f, "#/server")
		for _, row := range []string{"Version", "Running since", "Log", "Threads", "Turns", "Streams", "Largest stream lag", "Database", "Write-ahead log", "Memory"} {
			p.sees("tr", row)
		}
		p.press("summary", "Limits")
		p.sees("details tr", "max_frame_bytes")
		p.press("td button", "Pause")
		p.sees("tr", "paused since")
		p.press("td button", "Resume")
		p.sees("tr", "running")
		p.noWiderThanTheScreen()
	}, phoneDark)
}
