#ifndef TRELLIS_FUZZING_CFUZZER_H
#define TRELLIS_FUZZING_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer, which reads its options from the arguments and calls `one_input` until its limit is reached.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one_input)(const uint8_t *data, size_t size));

#endif
