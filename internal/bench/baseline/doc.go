// Package baseline holds the common code of the baselines. Each baseline is a
// folder with one function
//
//	Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error
//
// and runs as a separate process, like the server it is compared with. It
// prints JSON lines on out; the end of in ends it. A baseline does only the
// measured thing, as fast as reasonably possible: it stores nothing unless
// storing is measured, checks no client and gives up at the first error.
package baseline
