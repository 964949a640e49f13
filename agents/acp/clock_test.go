package acp

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/test/acptest"
)

func TestMain(m *testing.M) {
	if os.Getenv(ClockAgent) != "" {
		beClock()
		return
	}
	acptest.Main(m)
}

// ClockAgent is the variable that turns the test's own program into an agent:
// it writes the time at which it has read each prompt to the file that the
// variable names. It answers a line that is no message with the time.
const ClockAgent = "HOLON_TEST_CLOCK_AGENT"

// Monotonic is the time since the system's start in nanoseconds, the same for
// all processes.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

func beClock() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	times, err := os.OpenFile(os.Getenv(ClockAgent), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	session := 0
	for {
		line, err := in.ReadSlice('\n')
		now := Monotonic()
		if err != nil {
			return
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
		}
		if line[0] != '{' || json.Unmarshal(line, &m) != nil {
			fmt.Println(now)
			continue
		}
		result := "{}"
		switch m.Method {
		case methodInitialize:
			result = `{"protocolVersion":1,"agentCapabilities":{}}`
		case methodNew:
			session++
			result = fmt.Sprintf(`{"sessionId":"clock-%d-%d"}`, os.Getpid(), session)
		case methodPrompt:
			fmt.Fprintln(times, now)
			result = `{"stopReason":"end_turn"}`
		}
		if m.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		}
	}
}
