// Package faults owns the tests that break a server from outside: kill -9 at
// every write, power cuts, full and failing disks, readers that never read,
// broken frames, and all of these together in a soak.
//
// They start the real binary as a child, talk to it in raw bytes, and compare
// what clients received with what the log has afterwards. The promises are in
// docs/architecture.md (I1, I3–I7); no test here knows how they are kept.
//
// CRASH=short (the default) runs a sample that fits continuous integration,
// CRASH=long runs everything. SOAK=30m runs the soak for that long. A test that
// lacks what it needs (root, strace, unshare) says so and is skipped;
// REQUIRE_FAULTS=1 makes that a failure.
//
// A tracer in this package (tracer_test.go) kills the server and records its
// writes. strace counts per thread, but a Go program writes from many threads:
// only one counter for the process reaches every write exactly once. strace
// injects errors of the disk; it attaches to a running server.
package faults
