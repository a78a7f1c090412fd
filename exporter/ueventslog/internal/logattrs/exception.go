package logattrs

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

// addException adds the attributes that describe the error of a record, message first, unless the record has them. A panic of
// the error's methods must not depend on whether a tool is attached.
func addException(l *attrs.List, err error, wantsType, wantsMessage bool, limits *attrs.Limits) {
	if wantsMessage {
		if message := attrjson.ErrorText(err); message != "" {
			kv := keyExceptionMessage.String(message)
			l.Add(&kv, limits)
		}
	}
	if wantsType {
		kv := keyExceptionType.String(errorType(err))
		l.Add(&kv, limits)
	}
}

// errorType returns the value of exception.type, as the SDK makes it: what the error says, or the name of its type,
// or of the one that fmt.Errorf has wrapped.
func errorType(err error) (name string) {
	defer func() {
		if recover() != nil || name == "" {
			name = attrs.TypeName(unwrapped(err))
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
	for reflect.TypeOf(err) == wrappedType && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}
