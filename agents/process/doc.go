// Package process runs the processes of agents: each the leader of its own
// process group, with pipes of ours, so that the whole of what it starts can
// be told to stop, killed and reaped. It knows nothing of turns or protocols;
// agents/exec and agents/acp are its callers.
//
//	func Command(command []string, dir string) (*exec.Cmd, error)  // errors are *StartError
//	func Environment(dir string, set map[string]string, without map[string]bool) []string
//	func Start(cmd *exec.Cmd) (*Group, error)                      // errors are *StartError
//	func (g *Group) PID() int
//	func (g *Group) Exited() <-chan struct{}
//	func (g *Group) Signal(sig syscall.Signal)
//	func (g *Group) Kill()
//	func (g *Group) End() *os.ProcessState
//	func (g *Group) Stop(l Ladder) *os.ProcessState
//	func (g *Group) Discard()
//	func Now() Moment
//	func (g *Group) Since(m Moment) []Descendant
//	func (g *Group) EndSince(m Moment, which func(Descendant) bool, term, kill time.Duration) (left []Descendant)
//	func (p *Pipe) Read(buf []byte) (int, error)   // Group.Stdout, Group.Stderr
//	func (p *Pipe) Drain()
//	func (p *Pipe) Close() error
//	func NewTail(max int) *Tail                    // an io.Writer for stderr
//	func OpenRecords(dir string) (*Records, error)
//	func (r *Records) Add(g *Group, command []string) (remove func(), err error)
//	func (r *Records) EndSurvivors(ctx context.Context, log *zap.Logger) (ended int, err error)
//
// What the package promises: a group that was started is ended by End or Stop,
// with every member that stayed in it, and its leader is reaped; no signal is
// ever sent to a group whose number may belong to somebody else; a group that
// was recorded and outlives a killed server is ended by the next start.
//
// Since and EndSince are for what a part of the leader's work has started. A
// signal goes to a process by a handle that does not follow a number which is
// given away, and only after its start was compared.
//
// # Outliving a server
//
// A server that is killed cannot end anything. Three things see to it that
// nothing is left: the processes find the end of their stdin; on Linux the
// kernel kills each group's leader; and Records holds what is needed to find
// the rest of a group again.
//
// A process that has left its group (setsid) is killed with it, on Linux, as
// long as its parent is in the group or was reached in this way: there are
// agents that run commands in sessions of their own and cannot end them when
// they are killed. One that has lost its parents too is killed if
// Group.Orphans is set and its output is a pipe or a socket; else, as a daemon
// that others may use, it is on its own. So is one that its leader started in
// the few milliseconds before the group was recorded, if the server is killed
// just then; and one whose leader is dead and that hides or has emptied its environment, since
// nothing proves then that it is ours. These end at the end of their input, or
// not.
//
// On systems without /proc a group cannot be told from a later one with the
// same number, so EndSurvivors ends nothing there: it removes the records and
// logs the groups that are still there, for a person to look at.
package process
