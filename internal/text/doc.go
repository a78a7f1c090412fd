// Package text writes texts so that every tool prints them as one line of printable characters, and reads them back.
//
//	buf, cut := text.Append(nil, "a\nb\u202ec", math.MaxInt) // prints as it is written here: a\nb\u202ec
//	original := text.Unescape(string(buf))
//
// Tracing tools print the texts of a record as they are. A text that contains a newline, an escape sequence or a character that reverses the
// direction of writing could forge a record, control a terminal or disguise its meaning. So control characters, characters that are
// invisible or change the direction of text, backslashes, and bytes that are not UTF-8 are escaped, in ASCII and in the notation of Go and C:
// docs/wire-formats.md has the list. Invisible are those with Unicode's properties Bidi_Control and Default_Ignorable_Code_Point, except for those
// that words of several scripts and emoji need: U+200C, U+200D and the variation selectors up to U+FE0F. Everything else stays as it is: quotes, letters of all scripts, symbols, emoji (but flags of
// regions, which are made of tags). Since Linux 7 ftrace, but not perf and trace-cmd, prints a text as dots and a hex dump if any byte of it is
// not printable ASCII.
//
// [Unescape] returns the original, byte for byte. A text that was cut to fit ends in [CutMark]. Floating-point numbers for which a record has no
// type of its own are texts too; [AppendFloat] writes them.
//
// In JSON, such as the field attributes, the same characters have JSON's own escapes (\n, \u001b, and beyond U+FFFF a surrogate pair), which
// every parser reverses, and [UnescapeJSON] puts back the bytes that are not valid UTF-8.
//
// All sizes are in bytes. A text grows to at most four times its length. The functions keep nothing that is passed to them and may be used
// concurrently.
package text
