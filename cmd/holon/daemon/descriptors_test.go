package daemon

import (
	"testing"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

func TestConnectionsLeaveDescriptors(t *testing.T) {
	unix, pprof := []string{"127.0.0.1:0", "unix:/s", stdio}, "unix:/p"
	for _, c := range []struct {
		descriptors, most int
		listen            []string
		pprof             string
		connections, each int
	}{
		{0, 8192, unix, pprof, 8192, 512},
		{20, 8192, unix[:1], "", 1, 1},
		{40, 8192, unix[:1], "", 4, 4},
		{48, 8192, unix[:1], "", 8, 8},
		{64, 8192, unix[:1], "", 20, 12},
		{64, 8192, unix, "", 20, 6},
		{64, 8192, unix, pprof, 20, 4},
		{64, 8192, unix[2:], "", 32, 12},
		{64, 10, unix[:1], "", 10, 12},
		{1024, 8192, unix[:1], "", 576, 192},
		{65536, 8192, unix, "", 8192, 512},
		{65536, 1_000_000, unix, "", 48128, 512},
	} {
		d := &daemon{Options: Options{Descriptors: c.descriptors}, cfg: &config.Config{MaxConnections: c.most, Listen: c.listen, Pprof: c.pprof}, log: zap.NewNop()}
		if connections, each := d.connectionBounds(); connections != c.connections || each != c.each {
			t.Errorf("%+v: %d connections, %d unadmitted", c, connections, each)
		}
	}
}
