// Package process runs the processes of agents. Each is the leader of its own
// session and process group, with pipes of the server, so that all processes it starts can
// be stopped, killed and reaped. It has no terminal: what would ask there fails at once,
// instead of being stopped in the background of the server's terminal. It knows nothing of turns or protocols;
// agents/exec and agents/acp are its callers, and bridges/kinds for the programs
// of bridges.
//
//	func Command(command []string, dir string) (*exec.Cmd, error)  // errors are *StartError
//	func Environment(dir string, set map[string]string) []string
//	func LeftOut(environ []string) []string
//	func Disown() ([]string, error)
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
//	func Memory(groups []*Group) []int64
//	func (m *Meter) Bytes(groups []*Group) int64
//	func (p *Pipe) Read(buf []byte) (int, error)   // Group.Stdout, Group.Stderr
//	func (p *Pipe) Drain()
//	func (p *Pipe) Close() error
//	func NewTail(max int) *Tail                    // an io.Writer for stderr
//	func OpenRecords(dir string) (*Records, error)
//	func (r *Records) Add(g *Group, command []string) (remove func(), err error)
//	func (r *Records) EndSurvivors(ctx context.Context, log *zap.Logger) (ended int, err error)
//
// What the package promises: End or Stop ends a started group with every member
// that stayed in it, and its leader is reaped; no signal is ever sent to a
// group whose number may have been reused; the next start of the server ends a
// recorded group that outlives a killed server.
//
// Since and EndSince are for processes that one part of the leader's work has
// started. A signal goes to a process through a handle, so that a reused pid is
// not hit, and only after its start time was compared.
//
// # Outliving a server
//
// A killed server cannot end anything. Three mechanisms end its processes: they
// reach the end of their stdin; on Linux the kernel kills each group's leader;
// and Records holds what is needed to find the rest of a group.
//
// On Linux a process that has left its group (setsid) is killed with it, as
// long as its parent is in the group or was found in this way: some agents run
// commands in other sessions and cannot end them when they are killed. A
// process that has lost its parents too is killed if Group.Orphans is set and
// its output is a pipe or a socket; otherwise it may be a daemon that others
// use, and is left alone, unless Group.Daemons is set. Two more kinds are left
// alone: a process that its leader started in the few milliseconds before the
// group was recorded, if the server is killed just then; and one whose leader is
// dead and that hides or has emptied its environment, since nothing proves that
// it belongs to the group. These end at the end of their input, or not at all.
//
// On systems without /proc a group cannot be distinguished from a later one
// with the same number, so EndSurvivors ends nothing there: it removes the
// records and logs the groups that still exist, for a person to check.
package process
