// Package faults owns the tests that break a server from outside: kill -9 at
// every write, cut power, full and failing disks, readers that never read,
// broken frames, and all of it together for as long as one likes.
//
// They start the real binary as a child, talk to it in raw bytes, and hold
// what clients were told against what the log has afterwards. What is
// promised is in docs/architecture.md (I1, I3–I7); no test here knows how it
// is kept.
//
// CRASH=short (the default) runs a sample that fits continuous integration,
// CRASH=long everything. SOAK=30m runs the soak for that long. A test that
// lacks what it needs (root, strace, unshare) says so and is skipped;
// REQUIRE_FAULTS=1 makes that a failure.
//
// Kills and records of writes come from a tracer of our own (tracer_test.go)
// because strace counts per thread, and a Go program's writes wander over
// threads: only one counter for the process hits every write exactly once.
// Errors of the disk are injected by strace, which joins a running server.
package faults
