//go:build !race

package attrjson_test

const raceEnabled = false
