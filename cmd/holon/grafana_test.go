package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// grafanaBoard is what the tests read of deploy/grafana.json.
type grafanaBoard struct {
	UID    string `json:"uid"`
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct{ H, W, X, Y int }
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

// ruleFile is the format of rules of Prometheus, as far as deploy/alerts.yml uses it.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// expressions are those of the dashboard and of the alerts, by where they are.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	data, err := os.ReadFile("../../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d grafanaBoard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d, %s: its id is not its own, it has no place, or no expression", p.ID, p.Title)
		}
		ids[p.ID] = true
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %s, %d", p.Title, i)] = target.Expr
		}
	}
	for _, v := range d.Templating.List {
		if v.Definition != "" {
			all["variable "+v.Name] = v.Definition
		}
	}

	if data, err = os.ReadFile("../../deploy/alerts.yml"); err != nil {
		t.Fatal(err)
	}
	var rules ruleFile
	strict := yaml.NewDecoder(bytes.NewReader(data))
	strict.KnownFields(true)
	if err := strict.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("the rule %q is not whole: %+v", r.Alert, r)
			}
			all["alert "+r.Alert] = r.Expr
		}
	}
	return all
}

// The parts of an expression that matter here. It is no parser of PromQL; see
// TestPrometheusLoadsTheAlerts.
var (
	promText     = regexp.MustCompile(`"[^"]*"`)
	promRange    = regexp.MustCompile(`\[(\d+[smhd]|\$__rate_interval|\$__range)\]`)
	promGrouping = regexp.MustCompile(`\b(by|without)\s*\(([^)]*)\)`)
	promName     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*(\{[^}]*\}|\()?`)
	promMatcher  = regexp.MustCompile(`([a-zA-Z_]+)\s*(=~|!~|!=|=)`)
	promWord     = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
)

// promKnown are the functions, aggregations and operators that expressions may use.
// label_values is Grafana's.
var promKnown = strings.Fields("sum max min rate increase histogram_quantile absent or and unless label_values")

// uses returns the metrics of an expression, each with the labels that the expression
// asks of it.
func uses(expr string) (map[string][]string, error) {
	bare := promRange.ReplaceAllString(promText.ReplaceAllString(expr, `""`), "")
	if strings.Count(bare, "(") != strings.Count(bare, ")") || strings.ContainsAny(strings.ReplaceAll(bare, `""`, ""), `[]$"`) {
		return nil, fmt.Errorf("parentheses, a range, quotes or a variable")
	}
	var labels []string
	for _, g := range promGrouping.FindAllStringSubmatch(bare, -1) {
		labels = append(labels, strings.Fields(strings.ReplaceAll(g[2], ",", " "))...)
	}
	if strings.Contains(bare, "histogram_quantile") && !slices.Contains(labels, "le") {
		return nil, fmt.Errorf("a quantile without le")
	}
	found := map[string][]string{}
	for _, m := range promName.FindAllString(promGrouping.ReplaceAllString(bare, ""), -1) {
		name := promWord.FindString(m)
		switch {
		case slices.Contains(promKnown, name):
			continue
		case strings.HasSuffix(m, "("):
			return nil, fmt.Errorf("%s is not known", name)
		case name == "instance": // of label_values
			continue
		}
		of := slices.Clone(labels)
		for _, matcher := range promMatcher.FindAllStringSubmatch(strings.TrimPrefix(m, name), -1) {
			of = append(of, matcher[1])
		}
		found[name] = append(found[name], of...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no metric")
	}
	return found, nil
}

// TestDashboardAndAlertsUseWhatTheServerExports holds names and labels of all expressions
// to those of a server that has done a little.
func TestDashboardAndAlertsUseWhatTheServerExports(t *testing.T) {
	s := startDelivering(t, hook("http://127.0.0.1:1/"))
	s.want("run", "hello")
	_, page := s.fetch("/metrics")
	exported := map[string][]string{"up": nil}
	for line := range strings.Lines(page) {
		if name := promWord.FindString(line); name != "" {
			labels, _, _ := strings.Cut(promText.ReplaceAllString(strings.TrimPrefix(line, name), `""`), "}")
			for _, matcher := range promMatcher.FindAllStringSubmatch(labels, -1) {
				exported[name] = append(exported[name], matcher[1])
			}
			exported[name] = append(exported[name], "instance", "job") // which Prometheus adds
		}
	}
	exported["up"] = []string{"instance", "job"}
	all := expressions(t)
	if len(all) < 30 {
		t.Fatalf("%d expressions were found", len(all))
	}
	for _, where := range slices.Sorted(maps.Keys(all)) {
		metrics, err := uses(all[where])
		if err != nil {
			t.Errorf("%s: %v: %s", where, err, all[where])
		}
		for name, labels := range metrics {
			has, ok := exported[name]
			if !ok {
				t.Errorf("%s: the server exports no %s", where, name)
			}
			for _, label := range labels {
				if ok && !slices.Contains(has, label) {
					t.Errorf("%s: %s has no label %s", where, name, label)
				}
			}
		}
	}
}

// What the alerts count must be there at 0: Prometheus sees no increase of what was
// not there before.
func TestWhatAlertsCountIsThereFromTheStart(t *testing.T) {
	s := startDelivering(t, hook("http://127.0.0.1:1/"))
	_, page := s.fetch("/metrics")
	for _, sample := range []string{
		`holon_delivery_settled_total{bridge="hook",state="dead"} 0`, `holon_delivery_settled_total{bridge="hook",state="delivered"} 0`,
		`holon_delivery_oldest_pending_seconds{bridge="hook"} 0`, `holon_delivery_subscriptions_held{bridge="hook"} 0`,
		`holon_delivery_mismatches_total{bridge="hook"} 0`,
		`holon_oldest_wait_seconds{what="question"} 0`, `holon_oldest_wait_seconds{what="review"} 0`, `holon_storage_ok 1`,
		`holon_append_refused_total{kind="storage_full"} 0`, `holon_append_refused_total{kind="storage_failed"} 0`,
	} {
		if !strings.Contains(page, "\n"+sample+"\n") {
			t.Errorf("no %s", sample)
		}
	}
}

// TestPrometheusLoadsTheAlerts asks Prometheus's own checker of rules.
func TestPrometheusLoadsTheAlerts(t *testing.T) {
	promtool, err := osexec.LookPath("promtool")
	if err != nil {
		hosttest.Need(t, "promtool is not installed, so Prometheus does not check deploy/alerts.yml")
	}
	command(t, "../../deploy", promtool, "check", "rules", "alerts.yml")
}
