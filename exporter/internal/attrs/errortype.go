package attrs

import "reflect"

// TypeName returns the name of an error's type in the form of the SDK's exception.type.
func TypeName(err error) string {
	t := reflect.TypeOf(err)
	if t.PkgPath() == "" || t.Name() == "" {
		return t.String() // a pointer, for example
	}
	return t.PkgPath() + "." + t.Name()
}
