// Package browsertest tests the console as people meet it: a real server process, a real
// Chromium, real clicks and keys, at the widths of a phone and of a desktop, light and dark.
//
// It has tests only. All of them share one browser and one built binary; each has its own
// server and its own tab with separate storage. A test waits for what the page shows, or for
// the data attributes of its root element (page, ready, stream, seq), never for time. At its
// end it fails if the page has logged an error, thrown an exception or violated its policy.
//
// Without Chromium the tests are skipped with a message; REQUIRE_BROWSER=1 makes that a
// failure.
package browsertest
