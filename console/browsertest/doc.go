// Package browsertest tests the console as people meet it: a real server process, a real
// Chromium, real clicks and keys, at the widths of a phone and of a desktop, light and dark.
//
// It has tests only. All of them share one browser and one built binary; each has a server
// and a tab of its own, whose storage nobody else sees. A test waits for what the page says
// of itself (the data of the root element: page, ready, stream, seq) or shows, never for
// time, and fails in the end if the page has logged an error, thrown anything or violated
// its policy.
//
// Without Chromium the tests are skipped aloud; REQUIRE_BROWSER=1 makes that a failure.
package browsertest
