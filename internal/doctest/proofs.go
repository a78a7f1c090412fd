package doctest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Proof is a test that a row of docs/reliability.md names for a fault.
type Proof struct {
	Line    int      // of the row
	Package string   // directory of the package in the checkout
	Test    string   // a function, or FUNCTION/SUBTEST
	On      []string // where it has to run and pass: host, guests, or names of kernels
	Needs   string   // root, or a program, without which the host skips the test
}

// String names the test as go test does.
func (p Proof) String() string { return p.Package + "." + p.Test }

// RunsOn reports whether the test has to pass on a kernel; "" is the machine itself.
func (p Proof) RunsOn(kernel string) bool {
	if kernel == "" {
		return slices.Contains(p.On, onHost)
	}
	return slices.Contains(p.On, onAll) || slices.Contains(p.On, kernel)
}

// Marks of the column that says where a test runs.
const (
	onHost  = "host"
	onAll   = "guests"
	proofOf = "Test"
	runsOn  = "Runs on"
)

var (
	hostNeeds = regexp.MustCompile(`^host \((\S+)\)$`)
	proofName = regexp.MustCompile("^`([a-z0-9/]+)\\.(Test[A-Za-z0-9_]+(?:/[^`]+)?)`$")
	// aRow is a line of a table that has text.
	aRow = regexp.MustCompile(`^\|.*[^-|: ].*\|$`)
)

// Proofs returns the tests in the tables of a document: those with a column Test, whose cells are lists of `PACKAGE.TEST`, and a
// column "Runs on" with a list of kernels, with "guests" for all kernels, with "host", or with "host (NEED)" for tests that the host skips
// without that. Each row has at least one test.
func Proofs(text string) (list []Proof, err error) {
	var errs []error
	test, on := -1, -1
	for number, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			test, on = -1, -1 // the table ends
			continue
		}
		if !aRow.MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if i := slices.Index(cells, proofOf); i >= 0 {
			test, on = i, slices.Index(cells, runsOn)
			continue
		}
		if test < 0 {
			continue
		}
		proofs, err := proofsOf(cells, test, on)
		for i := range proofs {
			proofs[i].Line = number + 1
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", number+1, err))
		}
		list = append(list, proofs...)
	}
	return list, errors.Join(errs...)
}

func proofsOf(cells []string, test, on int) (list []Proof, err error) {
	if on < 0 || len(cells) <= max(test, on) {
		return nil, fmt.Errorf("a row without the columns %s and %s", proofOf, runsOn)
	}
	for name := range strings.SplitSeq(cells[test], ", ") {
		m := proofName.FindStringSubmatch(name)
		if m == nil {
			return nil, fmt.Errorf("%q is no `PACKAGE.TEST`", name)
		}
		p := Proof{Package: m[1], Test: m[2], On: strings.Split(cells[on], ", ")}
		if m := hostNeeds.FindStringSubmatch(cells[on]); m != nil {
			p.On, p.Needs = []string{onHost}, m[1]
		}
		list = append(list, p)
	}
	return list, nil
}
