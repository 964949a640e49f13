package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// WriteText writes the report for a person: one line per check, below it the
// failure and the evidence, and the counts at the end.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "conformance of %s", printable(r.URL))
	if r.Server != "" {
		fmt.Fprintf(&b, " (%s, protocol %s)", printable(r.Server), printable(r.Protocol))
	}
	b.WriteString("\n")
	area := ""
	for _, res := range r.Results {
		if a, _, _ := strings.Cut(res.ID, "."); a != area {
			area = a
			fmt.Fprintf(&b, "\n%s\n", area)
		}
		fmt.Fprintf(&b, "  %-5s %-40s %s\n", res.Outcome, res.ID, res.Sentence)
		if res.Outcome == Pass {
			continue
		}
		fmt.Fprintf(&b, "        %s\n", printable(res.Message))
		if res.Outcome == Skip {
			continue
		}
		fmt.Fprintf(&b, "        rule: %s\n", res.Source)
		for _, line := range res.Evidence {
			fmt.Fprintf(&b, "        %s\n", printable(line))
		}
	}
	fmt.Fprintf(&b, "\n%d checks in %s: %d passed, %d failed, %d errors, %d skipped\n",
		len(r.Results), (time.Duration(r.Millis) * time.Millisecond).Round(100*time.Millisecond),
		r.Passed, r.Failures, r.Errors, r.Skipped)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure,omitempty"`
	Error   *junitNote `xml:"error,omitempty"`
	Skipped *junitNote `xml:"skipped,omitempty"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML, one suite per area.
func (r *Report) WriteJUnit(w io.Writer) error {
	out := junitSuites{
		Name: "conformance", Tests: len(r.Results), Failures: r.Failures,
		Errors: r.Errors, Skipped: r.Skipped, Time: seconds(r.Millis),
	}
	for _, res := range r.Results {
		area, name, _ := strings.Cut(res.ID, ".")
		if n := len(out.Suites); n == 0 || out.Suites[n-1].Name != area {
			out.Suites = append(out.Suites, junitSuite{Name: area})
		}
		suite := &out.Suites[len(out.Suites)-1]
		suite.Tests++
		c := junitCase{Name: name, Class: "conformance." + area, Time: seconds(res.Millis)}
		note := &junitNote{
			Message: printable(res.Message),
			Text:    printable(res.Sentence + "\nrule: " + res.Source + "\n" + strings.Join(res.Evidence, "\n")),
		}
		switch res.Outcome {
		case Fail:
			suite.Failures++
			c.Failure = note
		case Error:
			suite.Errors++
			c.Error = note
		case Skip:
			suite.Skipped++
			c.Skipped = note
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(millis int64) string { return fmt.Sprintf("%.3f", float64(millis)/1000) }

// printable makes a server's text harmless for terminals and XML: control
// characters other than newline and tab become escapes.
func printable(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
