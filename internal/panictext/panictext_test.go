package panictext_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/panictext"
)

type panicsTwice struct{}

func (panicsTwice) String() string { panic(panicsTwice{}) }

func TestOf(t *testing.T) {
	assert.Equal(t, "!PANIC: oh", panictext.Of("oh"))
	assert.Equal(t, "!PANIC: broken", panictext.Of(errors.New("broken")))
	assert.Equal(t, "!PANIC: panictext_test.panicsTwice", panictext.Of(panicsTwice{}))
}
