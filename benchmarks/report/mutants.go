package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A mutated is what make mutate has kept of a package.
type mutated struct {
	pkg                               string
	mutants, covered, killed          int
	explained, unexplained, unreached int // of those that were not killed
}

var mutatedLine = regexp.MustCompile(`^package (\S+): mutants (\d+), covered (\d+), killed (\d+), `)

// parseMutants reads results of make mutate.
func parseMutants(text string) (list []mutated, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := mutatedLine.FindStringSubmatch(line); m != nil {
			p := mutated{pkg: m[1]}
			for i, n := range []*int{&p.mutants, &p.covered, &p.killed} {
				if *n, err = strconv.Atoi(m[2+i]); err != nil {
					return nil, err
				}
			}
			list = append(list, p)
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%q belongs to no package", line)
		}
		p := &list[len(list)-1]
		switch _, reason, _ := strings.Cut(line, "`: "); {
		case reason != "":
			p.explained++
		case strings.HasPrefix(line, "lived "):
			p.unexplained++
		case strings.HasPrefix(line, "not-covered "):
			p.unreached++
		default:
			return nil, fmt.Errorf("%q is neither a survivor nor a mutant that is not covered", line)
		}
	}
	return list, nil
}

// readMutants reads a file of results of make mutate.
func readMutants(name string) ([]mutated, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	list, err := parseMutants(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// mutantTable has a row for each package, with what was killed before tests were written for the survivors.
func mutantTable(now, before []mutated) string {
	first := map[string]mutated{}
	for _, p := range before {
		first[p.pkg] = p
	}
	var b strings.Builder
	for _, p := range now {
		was := ""
		if f, ok := first[p.pkg]; ok {
			was = percent(f.killed, f.covered)
		}
		row(&b, []string{
			"`" + p.pkg + "`", strconv.Itoa(p.mutants), percent(p.covered, p.mutants), percent(p.killed, p.covered), was,
			strconv.Itoa(p.explained), strconv.Itoa(p.unexplained),
		})
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// percent rounds down, so that 100 % is all.
func percent(part, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d %%", 100*part/of)
}
