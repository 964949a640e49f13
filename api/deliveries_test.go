package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestDeliveryIsUnavailableInAServerWithoutIt(t *testing.T) {
	a, _, _ := newFamily(t)
	called := map[string]bool{}
	for _, c := range whatAgentsMay {
		area, _, _ := strings.Cut(c.method, "/")
		if area != "bridge" && area != "subscription" && area != "delivery" {
			continue
		}
		called[c.method] = true
		params := c.params
		if strings.Contains(params, "%[1]s") {
			params = fmt.Sprintf(params, "own")
		}
		rep, _ := a.Call(context.Background(), c.method, jsontext.Value(params), Call{})
		if rep.Later != nil {
			rep = rep.Later(context.Background())
		}
		if rep.Err == nil || rep.Err.Data.Kind != KindUnavailable {
			t.Errorf("%s: %v", c.method, rep.Err)
		}
	}
	if len(called) != 21 {
		t.Errorf("%d methods were called", len(called))
	}
}
