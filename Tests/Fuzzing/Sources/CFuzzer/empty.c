// The header is all: the function is in the library that -sanitize=fuzzer links.
