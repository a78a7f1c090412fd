package where

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/record"
)

// Level returns the condition of records of a level or above. A record without a level meets it. Spans and data points have no level of their
// own: they count as INFO.
func Level(least record.Severity) *Condition {
	const own = "kind in (log, other)"
	level := strings.ToLower(least.String())
	text := fmt.Sprintf("%s and (level >= %s or not has(level))", own, level)
	if least <= record.SeverityInfo {
		text = fmt.Sprintf("not %s or level >= %s or not has(level)", own, level)
	}
	c, err := Parse(text)
	if err != nil {
		panic(err) // least is no severity
	}
	return c
}
