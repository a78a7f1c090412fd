package ueventslog

import (
	"errors"
	"fmt"
	"reflect"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/attrjson"
)

const (
	keyExceptionType    = semconv.ExceptionTypeKey
	keyExceptionMessage = semconv.ExceptionMessageKey
)

// addException adds the attributes that describe the error of a record, message first, unless the record has them. If
// the limit has no room for the message, the type is not tried.
func addException(l *attrs.List, err error, wantsType, wantsMessage bool, limits *attrs.Limits) {
	if wantsMessage {
		if message := attrjson.ErrorText(err); message != "" { // a panic must not depend on an attached tool
			if l.Full(limits) {
				l.Dropped++
				if wantsType {
					l.Dropped++
				}
				return
			}
			kv := keyExceptionMessage.String(message)
			l.AddNew(&kv, limits)
		}
	}
	if wantsType {
		if l.Full(limits) {
			l.Dropped++
			return
		}
		if name := errorType(err); name != "" {
			kv := keyExceptionType.String(name)
			l.AddNew(&kv, limits)
		}
	}
}

// errorType returns the value of exception.type, as the SDK makes it: what the error says, or the name of its type,
// or of the one that fmt.Errorf has wrapped.
func errorType(err error) string {
	if name := statedType(err); name != "" {
		return name
	}
	return attrs.TypeName(unwrapped(err))
}

// statedType returns the type that an error states, or nothing if it states none or panics.
func statedType(err error) (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	if stated, ok := err.(interface{ ErrorType() string }); ok {
		name = stated.ErrorType()
	}
	return name
}

var wrappedType = reflect.TypeOf(fmt.Errorf("%w", errors.ErrUnsupported))

// unwrapped returns the error that fmt.Errorf has wrapped, however often.
func unwrapped(err error) error {
	for reflect.TypeOf(err) == wrappedType {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	return err
}
