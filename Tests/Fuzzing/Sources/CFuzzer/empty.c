// The module has only a header, because the function is in the library that -sanitize=fuzzer links.
