package eventset

// ReservedNames are the reserved suffixes, for the tests with all adapters.
var ReservedNames = reservedNames
