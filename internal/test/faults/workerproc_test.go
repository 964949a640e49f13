//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// workerJob is the job of a worker process.
type workerJob struct {
	Socket string
	Name   string
	Agent  string
	Stop   int    // kill -9 of itself at this request, 0 = never
	Phase  string // before: it is not sent; sent: nor waited for; answered: but nothing more
	Steps  bool   // before each request but the first it waits for a line
}

// workerEnv marks a process of the test binary as a worker; its value is the
// job as JSON.
const workerEnv = "FAULTS_WORKER"

// workerMain is the worker's process. With Steps it prints a line for each
// request, its method and how it went, and continues in any case. It
// returns the exit code.
func workerMain(raw string) int {
	var job workerJob
	if err := json.Unmarshal([]byte(raw), &job); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 2
	}
	p := &testbed{socket: job.Socket}
	s := &server{testbed: p, client: p.http()}
	in := bufio.NewReader(os.Stdin)
	w := &worker{name: job.Name, agent: job.Agent}
	w.call = func(key, method string, params object) (reply, error) {
		if job.Steps && w.sent > 1 {
			if _, err := in.ReadString('\n'); err != nil {
				return reply{}, err
			}
		}
		params = params.with("idempotency_key", key)
		if w.sent == job.Stop {
			switch job.Phase {
			case "before":
				die()
			case "sent":
				if err := p.post(method, params); err != nil {
					return reply{}, err
				}
				die()
			}
		}
		r, err := s.call(method, params)
		if w.sent == job.Stop {
			die()
		}
		if job.Steps {
			fmt.Println(method, kindOf(err), lateSeq(err))
			if late(err) {
				err = nil
			}
		}
		return r, err
	}
	if err := w.work(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// post writes a request and does not wait for anything.
func (p *testbed) post(method string, params object) error {
	c, err := net.Dial("unix", p.socket)
	if err != nil {
		return err
	}
	body := mustJSON(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	_, err = fmt.Fprintf(c, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// launchWorker starts a worker's process.
func (p *testbed) launchWorker(t testing.TB, job workerJob) *exec.Cmd {
	t.Helper()
	job.Socket = p.socket
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(cleanEnv(), workerEnv+"="+string(mustJSON(job)))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// killedWorker runs a worker's process to its end, which is to be a kill.
func (p *testbed) killedWorker(t testing.TB, job workerJob) error {
	cmd := p.launchWorker(t, job)
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the worker was to be killed at request %d: %v %s", job.Stop, err, out.String())
	}
	return nil
}
