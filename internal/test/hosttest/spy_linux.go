package hosttest

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// SpyProgram is a program for Main. It listens, answers the first bytes of each
// connection like a server that is ready, and prints what the connection sent
// once it is closed.
const SpyProgram = "spy"

// Spy runs the program of SpyProgram. arg is HOST:PORT or unix:PATH.
func Spy(arg string) error {
	network, address := "tcp", arg
	if path, ok := strings.CutPrefix(arg, "unix:"); ok {
		network, address = "unix", path
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if network == "unix" {
		if err := os.Chmod(address, 0o666); err != nil {
			return err
		}
	}
	fmt.Println(l.Addr())
	go func() { // the test has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go spyOn(c)
	}
}

func spyOn(c net.Conn) {
	defer func() { _ = c.Close() }()
	var seen strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			break
		}
		const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(result), result)
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	}
	fmt.Println(strconv.Quote(seen.String()))
}

// StartSpy starts SpyProgram as another user and returns its address. The test
// binary's TestMain has to know the program. It needs root.
func StartSpy(t *testing.T) (spy *Child, address string) {
	t.Helper()
	NeedRoot(t)
	spy, err := Start(t, AsUser(OtherUID), SpyProgram, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if address, err = spy.Line(); err != nil {
		t.Fatal(address, err)
	}
	return spy, address
}
