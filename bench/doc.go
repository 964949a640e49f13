// Package bench measures a server against baselines and says whether it is
// fast enough.
//
// Machines are noisy, so nothing is compared with a figure from another day:
// each measure runs in pairs, the server and then its baseline, several times
// in turn, and what counts is the median of the pairs' ratios. The server is
// the real one, a child process spoken to over HTTP; each baseline is a small
// program in bench/baseline, a child process too, that does the one thing
// that is measured as fast as it reasonably can. The client (bench/wire) is
// the same on both sides.
//
// cmd/holon calls Run for `holon bench` and Baseline for the children.
package bench
