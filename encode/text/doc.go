// Package text writes texts so that every tool prints them as one line of printable characters, and
// reads them back.
//
// Tracing tools print the texts of a record as they are. A text that contains a newline, an escape
// sequence or a character that reverses the direction of writing could forge a record, control a terminal or
// disguise what it says. So what is not printable is escaped, in ASCII and in the notation of Go and C:
//
//	\\                              backslash
//	\n \t \r                        newline, tab, carriage return
//	\x00 to \x1f, \x7f              other control characters of ASCII
//	\u0080, \u202e, \u2028, \ufeff  other control characters, characters that change the
//	                                direction of text, end a line or are invisible
//	\U000e0041                      the same beyond U+FFFF, such as tags
//	\x80 to \xff                    a byte that is not valid UTF-8
//
// Characters that change the direction of text or are invisible are those with Unicode's properties Bidi_Control and
// Default_Ignorable_Code_Point, except for those that words of several scripts and emoji need: the joiners U+200C and
// U+200D and the variation selectors up to U+FE0F. (Flags of regions, which emoji make of tags, are escaped.)
// Everything else stays as it is: quotes, letters of all scripts, symbols. (Since Linux 7 ftrace, but not perf and trace-cmd,
// prints a text as dots and a hex dump if any byte of it is not printable ASCII.) [Unescape] returns the
// original, byte for byte. A text that was cut to fit ends in [CutMark]. Floating-point numbers for which a
// record has no type of its own are texts too; [AppendFloat] writes them.
//
// All sizes are in bytes. A text grows to at most four times its length. The functions keep nothing that is
// passed to them and may be used concurrently.
//
// Plain texts of typed events and of EventHeader have this form. In JSON, such as the field attributes, the same characters
// have JSON's own escapes (\n, \u001b, and beyond U+FFFF a surrogate pair), which every parser reverses, and [UnescapeJSON] puts
// back the bytes that are not valid UTF-8.
package text
