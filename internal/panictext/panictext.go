// Package panictext describes panics in records.
package panictext

import "fmt"

// Key begins the description of a panic. It is also the key of an attribute that is nothing else.
const Key = "!PANIC"

// Of describes a panic with the value r. It does not panic, even if a method of r does, with a value whose own method
// panics: then package fmt panics, and the description has the type of r only.
func Of(r any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%s: %T", Key, r)
		}
	}()
	return fmt.Sprint(Key+": ", r)
}
