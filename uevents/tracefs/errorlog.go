package tracefs

import (
	"fmt"
	"strings"
)

// explain adds to an error what the kernel's error_log says about the command.
func (e *Event) explain(command string, err error) error {
	if err == nil {
		return nil
	}
	log, readErr := e.instance.readFile("error_log")
	if readErr != nil {
		return err
	}
	if text := lastError(log, command); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// lastError returns the last entry of an error_log if it is about the command, or about the start of it that the
// kernel kept. An entry is
//
//	[  117.404295] hist:user_events:ev: error: Couldn't find field
//	  Command: hist:keys=nope
//	                     ^
func lastError(log, command string) string {
	at := strings.LastIndex(log, "\n[") + 1
	if !strings.HasPrefix(log[at:], "[") {
		return ""
	}
	head, rest, _ := strings.Cut(log[at:], "\n")
	_, problem, ok := strings.Cut(head, ": error: ")
	line, caret, _ := strings.Cut(rest, "\n")
	const label = "  Command: "
	have, labelled := strings.CutPrefix(line, label)
	have = strings.TrimSpace(have)
	if !ok || !labelled || have == "" || !strings.HasPrefix(strings.TrimSpace(command), have) {
		return ""
	}
	caret, _, _ = strings.Cut(caret, "\n")
	if i := strings.IndexByte(caret, '^') - len(label); i >= 0 {
		return fmt.Sprintf("%s, at byte %d of %q", strings.TrimSpace(problem), i+1, have)
	}
	return strings.TrimSpace(problem)
}
