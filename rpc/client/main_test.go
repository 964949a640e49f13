package client

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// programs are the programs that the tests start as another user.
var programs = map[string]func(arg string) error{}

func TestMain(m *testing.M) {
	hosttest.Main(programs)
	// A connection that net/http cuts early lingers 500 ms, longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// secret is the token of the tests.
const secret = "s3cret-0123456789-0123456789-0123456789"
