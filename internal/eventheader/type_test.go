package eventheader

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTypeStringOfUnknownFormats(t *testing.T) {
	assert.Equal(t, "value8 oldip", typeOf(encValue8, formatOldIP).String())
	assert.Equal(t, "value8 format 19", typeOf(encValue8, formatOldIP+1).String())
}

func TestTypeString(t *testing.T) {
	tests := map[Type]string{
		typeStruct:                  "struct",
		typeInt64:                   "value64 signed",
		typeString:                  "string8",
		typeJSON:                    "string8 json",
		typeOf(encBinary, FormatIP): "binary ip",
		typeOf(0, 0):                "encoding 0",
		typeOf(31, FormatHexBytes):  "encoding 31 hexbytes",
		typeOf(encValue8, 0x7f):     "value8 format 127",
	}
	for typ, want := range tests {
		assert.Equal(t, want, typ.String())
		assert.Equal(t, typ, typeOf(typ.encoding(), typ.format()))
	}
}
