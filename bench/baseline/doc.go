// Package baseline holds what the baselines share. Each baseline is a folder
// of its own with one function
//
//	Run(ctx context.Context, args []string, in io.Reader, out io.Writer) error
//
// and runs as a process of its own, like the server it stands beside. What it
// prints on out are JSON lines; the end of in ends it. A baseline does the one
// thing that is measured, as fast as that can reasonably be done, and nothing
// else: it stores nothing if nothing is to be stored, checks nobody and
// handles no error but by giving up.
package baseline
