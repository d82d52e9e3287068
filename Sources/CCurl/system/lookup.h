// Libraries whose functions are looked up by their names at run time. The build depends on none of them.
#ifndef TRELLIS_LOOKUP_H
#define TRELLIS_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>

// Returns the handle (dlopen(3)) for the functions that libcurl itself uses: a search in it begins with libcurl and goes on with the
// libraries that libcurl needs, whatever the names of their files are. The process may have other copies of the same libraries.
void *ccurl_library_of_curl(void);

// Fills an array with the functions of these names. Returns false if one of them is missing.
bool ccurl_find_functions(void *library, const char *const *names, void *functions, size_t count);

// Does the same, and returns false too if the functions are from several files. For functions that one library has: two copies of it must
// not be mixed.
bool ccurl_find_functions_together(void *library, const char *const *names, void *functions, size_t count);

// Returns the handle of the system's library with this name, which the process may have loaded already; NULL if there is none.
void *ccurl_system_library(const char *name);

#endif
