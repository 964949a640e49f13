package exec

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

var marks atomic.Int64

// marked returns an argument for sleep by which the process can be found.
func marked(t *testing.T) string {
	if runtime.GOOS != "linux" {
		hosttest.Need(t, "processes are found through /proc, which only Linux has")
	}
	return fmt.Sprintf("%d.%d", 3600+marks.Add(1), os.Getpid())
}

// alive returns the processes, zombies excepted, with this argument.
func alive(mark string) []int {
	return agenttest.Processes(func(args string) bool { return strings.Contains(args, "sleep\x00"+mark) })
}

func none(t *testing.T, mark string) {
	t.Helper()
	// The kernel may take a moment to end a process after KILL.
	for limit := time.Now().Add(30 * time.Second); ; {
		pids := alive(mark)
		if len(pids) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Errorf("still alive: %v", pids)
			for _, pid := range pids {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// aWhile is so long that no busy machine takes it: what ends before it has not
// waited for KILL.
const aWhile = time.Minute

func patient(c *Config) { c.KillAfter = aWhile }

func TestInterruptIsTermAndLastWordsAreKept(t *testing.T) {
	a := shell(t, `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`, patient)
	sink, out, took := until(t, a, "ready\n")
	if out.State != turns.Interrupted || out.StopReason != "exit status 0" || took >= aWhile {
		t.Errorf("%+v after %v", out, took)
	}
	if made := sink.Items(); len(made) != 1 || made[0].Text != "ready\nbye\n" || made[0].Status != items.StatusInterrupted {
		t.Errorf("made %+v", made)
	}
}

func TestInterruptKillsWhatIgnoresTerm(t *testing.T) {
	mark := marked(t)
	_, out, took := until(t, shell(t, `trap '' TERM; echo ready; sleep `+mark+`; sleep `+mark), "ready")
	if out.State != turns.Interrupted || out.StopReason != "signal: killed" || took < killAfter {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestInterruptReachesTheWholeGroup(t *testing.T) {
	mark := marked(t)
	_, out, took := until(t, shell(t, `sleep `+mark+` & sh -c 'sleep `+mark+` & echo ready; wait' & wait`, patient), "ready")
	if out.State != turns.Interrupted || took >= aWhile {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestLeftoverThatHoldsAnOutputHasALittleTime(t *testing.T) {
	mark := marked(t)
	began := time.Now()
	_, out := prompt(t, shell(t, `sleep `+mark+` & echo done`), turns.Prompt{}, "")
	if took := time.Since(began); took < killAfter || out.State != turns.Completed {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestWhatALeftoverStillSaysIsKept(t *testing.T) {
	began := time.Now()
	sink, out := prompt(t, shell(t, `(sleep 0.1; echo late) & echo done`, patient), turns.Prompt{}, "")
	if took := time.Since(began); took >= aWhile || out.State != turns.Completed || said(sink) != "done\nlate\n" {
		t.Errorf("%+v after %v, said %q", out, took, said(sink))
	}
}

func TestLeftoverThatHoldsNothingIsKilledAtOnce(t *testing.T) {
	mark := marked(t)
	began := time.Now()
	_, out := prompt(t, shell(t, `sleep `+mark+` <&- >&- 2>&- & echo done`, patient), turns.Prompt{}, "")
	if took := time.Since(began); took >= aWhile || out.State != turns.Completed {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestProcessThatLeftTheGroupDelaysTheEndOnlyALittle(t *testing.T) {
	if _, err := osexec.LookPath("setsid"); err != nil {
		hosttest.Need(t, "setsid is not installed")
	}
	for _, escaped := range []string{"sleep %s", "while echo again; do :; done; : sleep %s", "while echo again; do sleep 0.2; done; : sleep %s"} {
		mark := marked(t)
		began := time.Now()
		sink, out := prompt(t, shell(t, `setsid sh -c '`+fmt.Sprintf(escaped, mark)+`' & echo $!; sleep 0.1`), turns.Prompt{}, "")
		if took := time.Since(began); took >= aWhile || out.State != turns.Completed {
			t.Errorf("%+v after %v", out, took)
		}
		first, _, _ := strings.Cut(said(sink), "\n")
		pid, err := strconv.Atoi(strings.TrimPrefix(first, "again"))
		if err == nil && pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, pid := range alive(mark) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestInterruptWhileOnlyALeftoverRuns(t *testing.T) {
	mark := marked(t)
	a := shell(t, `sleep `+mark+` & echo ready`, patient)
	_, out, took := until(t, a, "ready")
	if out.State != turns.Interrupted || took >= aWhile {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestEndOfTheTurnWithoutTheAgentKillsAtOnce(t *testing.T) {
	mark := marked(t)
	a := shell(t, `trap '' TERM; echo ready; sleep `+mark, patient)
	sink, over := agenttest.NewSink(t), make(chan struct{})
	go func() {
		sink.Wait(t.Context(), func() bool { return said(sink) != "" })
		close(over)
	}()
	began := time.Now()
	out := sink.Run(t.Context(), a, turns.Prompt{Over: over})
	if took := time.Since(began); took >= aWhile || out.State != turns.Interrupted {
		t.Errorf("%+v after %v", out, took)
	}
	none(t, mark)
}

func TestCloseKillsWhatRunsAndRefusesMore(t *testing.T) {
	mark := marked(t)
	a := shell(t, `trap '' TERM; echo ready; sleep `+mark)
	sink := agenttest.NewSink(t)
	closed := make(chan error, 1)
	go func() {
		sink.Wait(t.Context(), func() bool { return said(sink) != "" })
		closed <- a.Close()
	}()
	out := sink.Run(t.Context(), a, turns.Prompt{})
	if err := <-closed; err != nil || out.State != turns.Failed || out.Failure.Kind != "agent_unavailable" {
		t.Errorf("%v, %+v", err, out)
	}
	none(t, mark)
	if _, out := prompt(t, a, turns.Prompt{}, ""); out.State != turns.Failed || out.Failure.Message != "the server is stopping" {
		t.Errorf("after Close: %+v", out)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// beServer is the process that the tests kill: a server that runs a script.
func beServer() {
	records, err := process.OpenRecords(os.Getenv("EXEC_TEST_RECORDS"))
	if err != nil {
		panic(err)
	}
	a, err := New("test", Config{Command: []string{"sh", "-c", os.Getenv("EXEC_TEST_SERVER")}, Records: records})
	if err != nil {
		panic(err)
	}
	a.Run(context.Background(), &turns.Prompt{ThreadID: "thread_1", TurnID: "turn_1", Attempt: 1, Sink: sayer{}})
}

// sayer prints what the agent says.
type sayer struct{ turns.Sink }

func (sayer) Emit(_ context.Context, ops []items.Op) error {
	for _, op := range ops {
		if a, ok := op.(items.Append); ok {
			fmt.Print(a.Text)
		}
	}
	return nil
}

// killServer runs a server until its process says "ready" and one with the
// mark runs, and kills it.
func killServer(t *testing.T, mark, records, script string) {
	t.Helper()
	server := osexec.Command(os.Args[0])
	server.Env = append(os.Environ(), "EXEC_TEST_SERVER="+script, "EXEC_TEST_RECORDS="+records)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Errorf("the server said %q, %v", line, err)
	}
	for limit := time.Now().Add(30 * time.Second); len(alive(mark)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the process never came")
		}
	}
	server.Process.Kill()
	server.Wait()
}

func TestProcessDiesWithAKilledServer(t *testing.T) {
	mark := marked(t)
	killServer(t, mark, t.TempDir(), "echo ready; exec sleep "+mark)
	none(t, mark)
}

// The process's child ignores TERM and has no pipe of the server.
func TestGroupOfAKilledServerIsEndedByTheNextStart(t *testing.T) {
	mark, dir := marked(t), t.TempDir()
	killServer(t, mark, dir, "trap '' TERM; sleep "+mark+" <&- >&- 2>&- & echo ready; wait")
	if n := len(alive(mark)); n != 1 {
		t.Fatalf("%d processes have outlived the server, want one", n)
	}
	records, err := process.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	if ended, err := records.EndSurvivors(t.Context(), zap.NewNop()); ended != 1 || err != nil {
		t.Errorf("%d ended, %v", ended, err)
	}
	if pids := alive(mark); len(pids) > 0 {
		t.Errorf("still alive: %v", pids)
		none(t, mark)
	}
}

func TestRecordsAreThereWhileTheProcessRuns(t *testing.T) {
	dir := t.TempDir()
	records, err := process.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := shell(t, `read -r line; ls "$line"; echo $$`, func(c *Config) { c.Records = records })
	sink, out := prompt(t, a, turns.Prompt{}, dir)
	if pids := strings.Fields(said(sink)); len(pids) != 2 || pids[0] != pids[1] || out.State != turns.Completed {
		t.Errorf("%+v, said %q", out, said(sink))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	sink, out = prompt(t, a, turns.Prompt{}, dir)
	if out.State != turns.Failed || out.Failure.Kind != "agent_unavailable" || len(sink.Items()) != 0 {
		t.Errorf("a process that cannot be recorded got its prompt: %+v, %q", out, said(sink))
	}
}

// A name in the configuration may have become that of a command.
func TestCommandDoesNotBeginAnotherAgentsTurnAfresh(t *testing.T) {
	resume := agenttest.Message("The server was restarted.")
	resume.Origin = items.OriginResume
	sink := agenttest.NewSink(t)
	out := sink.Run(t.Context(), shell(t, "echo done again"), turns.Prompt{Input: []items.UserMessage{resume, agenttest.Message("do it")}})
	if out.Cause != turns.CauseServer || len(sink.Items()) != 0 {
		t.Errorf("%+v, said %q", out, said(sink))
	}
}

// A process that waits for a person hears nothing of a stop of the server.
func TestStopOfTheServerKillsAProcessThatWaitsAtOnce(t *testing.T) {
	mark := marked(t)
	a := shell(t, `trap 'echo "{\"event\":\"delta\",\"id\":\"m\",\"text\":\"heard\"}"' TERM; echo '{"event":"ask","id":"q","title":"?","options":[{"option_id":"y","name":"Yes","kind":"allow_once"}]}'; sleep `+mark, patient, events)
	ctx, stop := context.WithCancelCause(t.Context())
	sink := agenttest.NewSink(t)
	sink.OnAsk = func(ctx context.Context, _ items.Content, o turns.AskOptions) (turns.Answer, error) {
		if o.Resumes {
			t.Error("a command cannot go on in another process")
		}
		stop(turns.ErrServerStops)
		<-ctx.Done()
		return turns.Answer{}, turns.ErrPromptOver
	}
	began := time.Now()
	out := sink.Run(ctx, a, turns.Prompt{})
	if took := time.Since(began); took >= aWhile || out.State != turns.Interrupted || said(sink) != "" {
		t.Errorf("%+v after %v, said %q", out, took, said(sink))
	}
	none(t, mark)
}
