// Package condition parses the conditions that select records: comparisons of named values, joined by and, or and not. Package
// reader documents the language, gives the names their values, and evaluates conditions.
package condition

import (
	"fmt"
	"io/fs"
)

// Builder makes an expression of the caller's type N of a condition.
type Builder[N any] struct {
	And, Or func(x, y N) N // holds if both operands do, or one of them
	Not     func(x N) N
	Compare func(*Compare) (N, error)
}

// Compare holds if a comparison with one of the values does, or for [NotEqual] with all of them. Only [Equal] and NotEqual have several values.
type Compare struct {
	Name   Name
	Op     Op
	Values []Value
	End    int // offset of what follows, in the text of the condition
}

// Name is the name of what is compared.
type Name struct {
	Text string
	At   int // offset in the text of the condition
}

// Op is the operator of a comparison.
type Op uint8

// The operators.
const (
	Equal Op = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
	Glob   // the whole text matches a pattern with *, ? and [a-z]
	Regexp // a part of the text matches a regular expression
	Mask   // a bit of the number is set
	Has    // a record has the name; there is no value
)

var operators = [...]string{
	Equal: "==", NotEqual: "!=", Less: "<", LessOrEqual: "<=", Greater: ">", GreaterOrEqual: ">=", Glob: "~", Regexp: "=~", Mask: "&", Has: "has",
}

// String returns the operator as conditions have it.
func (o Op) String() string { return operators[o] }

// Error says where and why a condition is refused. It wraps [fs.ErrInvalid].
type Error struct {
	Text    string // of the condition
	At      int    // offset in the text, in bytes
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s, at byte %d of %q: %v", e.Problem, e.At+1, e.Text, e.Unwrap())
}

// Unwrap returns [fs.ErrInvalid].
func (e *Error) Unwrap() error { return fs.ErrInvalid }
