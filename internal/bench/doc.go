// Package bench measures a server against baselines and reports whether it is
// fast enough.
//
// Machines are noisy, so nothing is compared with a figure from another day.
// Each measure runs in pairs, the server and then its baseline, several times,
// and the result is the median of the pairs' ratios. The server is the real
// one, a child process reached over HTTP. Each baseline is a small program in
// internal/bench/baseline, also a child process, that does only the measured thing, as
// fast as reasonably possible. The client (internal/bench/wire) is the same on both
// sides.
//
// cmd/holon calls Run for `holon bench` and Baseline for the children.
package bench
