package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// userPrefix marks user events among the other kinds in dynamic_events.
const userPrefix = "u:"

// command is what the kernel says after userPrefix: a name, and fields if there are any.
type command string

func (c command) name() string {
	name, _, _ := strings.Cut(string(c), " ")
	return name
}

// canonical returns the command as the kernel lists it, whatever white space it has.
func (c command) canonical() command {
	return command(strings.Join(strings.Fields(strings.ReplaceAll(string(c), ";", "; ")), " "))
}

func parseCommands(r io.Reader) ([]command, error) {
	var list []command
	sc := bufio.NewScanner(r)
	n := 1
	for ; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		c, ok := strings.CutPrefix(strings.TrimSpace(line), userPrefix)
		if c = strings.TrimSpace(c); ok && c != "" {
			list = append(list, command(c))
		}
	}
	if err := sc.Err(); err != nil {
		return list, fmt.Errorf("reading line %d of user events: %w", n, err)
	}
	return list, nil
}

// conflicts tells which of the events that were created the kernel has with other fields.
// Kernels before 6.4 accept a name that they have, whatever its fields, and keep those they
// have.
func conflicts(list, created []command) error {
	is := make(map[command]bool, len(list))
	for _, c := range list {
		is[c.canonical()] = true
	}
	var errs []error
	for _, c := range created {
		if is[c.canonical()] {
			continue
		}
		// One that is not listed at all was removed by another program since.
		if i := slices.IndexFunc(list, func(have command) bool { return have.name() == c.name() }); i >= 0 {
			errs = append(errs, fmt.Errorf("creating user event %q: there is %q: %w", c, list[i], errno.EADDRINUSE))
		}
	}
	return errors.Join(errs...)
}
