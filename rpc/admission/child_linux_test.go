package admission

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { childMain = runChild }

// runChild: "ask NETWORK ADDRESS" sends one request without a token and prints
// the status; "accept" judges one connection.
func runChild(what string) error {
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "ask":
		network, addr, _ := strings.Cut(rest, " ")
		return childAsk(network, addr)
	case "accept":
		return childAccept()
	}
	return errors.New("unknown verb " + verb)
}

func childAsk(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, "GET /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	fmt.Println("status", resp.StatusCode)
	return resp.Body.Close()
}

// childAs runs the test binary as another user, and returns what it printed.
// /proc/self/exe works where that user may not enter the binary's directory.
func childAs(t *testing.T, attr *syscall.SysProcAttr, what string) string {
	t.Helper()
	out, err := childCommand(attr, what).CombinedOutput()
	if err != nil {
		t.Fatalf("child %q: %v: %s", what, err, out)
	}
	return strings.TrimSpace(string(out))
}

func childCommand(attr *syscall.SysProcAttr, what string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), childEnv+"="+what, "GOCOVERDIR=")
	cmd.SysProcAttr = attr
	return cmd
}

// otherUID is a user that owns nothing here; it needs no entry in /etc/passwd.
const otherUID = 54321

func asUser(uid uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{}}}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		needFault(t, "only root can start a client as another user")
	}
}

// childAccept is a server in a small way: it takes one connection and prints
// what the kernel says of its peer and what the rule makes of it.
func childAccept() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	fmt.Println(l.Addr())
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	local, _ := loopbackAddr(c.LocalAddr())
	remote, _ := loopbackAddr(c.RemoteAddr())
	s, err := findTCP(remote, local)
	if err != nil {
		return err
	}
	fmt.Println("peer", s.uid, "server", os.Geteuid(), "admitted", peerIsServerUser(c) == nil)
	return nil
}

// dialChild connects to a child that runs "accept" and returns its verdict.
func dialChild(t *testing.T, attr *syscall.SysProcAttr) (string, error) {
	t.Helper()
	cmd := childCommand(attr, "accept")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() { _ = cmd.Wait() }()
	r := bufio.NewReader(out)
	addr, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	c, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		return "", errors.New(addr + err.Error())
	}
	defer func() { _ = c.Close() }()
	verdict, err := r.ReadString('\n')
	return strings.TrimSpace(verdict), err
}
