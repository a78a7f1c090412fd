package cli

import (
	"github.com/spf13/cobra"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
)

// newJSONTopic returns the help topic on the JSON objects of -o json.
func newJSONTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "json",
		Short: "The JSON objects of watch, record and replay",
		Long: `With -o json, each record is one JSON object on one line. Members that a record does not
have are left out. Later versions may add members; none changes its meaning.

` + output.JSONHelp() + `
A time is a text of RFC 3339 in UTC, always with nine digits of the second, so that times
sort as texts. An id is a text of lower-case hexadecimal digits.
Integers have all their digits, up to 64 bits. Bytes are base64. NaN and the infinities are texts.
Control characters and those that change the direction of text are escaped; bytes that
are not UTF-8 are characters from U+EF80 to U+EFFF.

An object of the kind lost says that the kernel lost count records of an event.`,
	}
}
