// Libraries that are looked up at run time: the Public Suffix List, and scripts for proxies.
#ifndef TRELLIS_CCURL_LIBRARIES_H
#define TRELLIS_CCURL_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Returns 1 if anyone can register names under a domain (in lower case and ASCII), and 0 if not, according to the Public Suffix List of the
// libpsl that libcurl has loaded; -1 if there is no list. The first call reads the list.
int ccurl_suffix_is_public(const char *_Nonnull domain);

// Scripts for the automatic configuration of proxies (PAC), through libpacparser, which is looked up at run time. One thread at a time may
// call these functions.
// Returns whether the library is there, and loads it under this name if it was not loaded yet.
bool ccurl_pac_is_available(const char *_Nonnull soname);
// Replaces the script. Returns false after an error, which ccurl_pac_message describes. The library must be there.
bool ccurl_pac_load(const char *_Nonnull script);
// Returns the result of the function FindProxyForURL of the script, valid until the next call; NULL after an error. The first character is
// `s` before a text (a null is an empty one), `t` before the name of another type, `e` before an error, or `?` if there is no such function.
// The URL and the host must hold no quotes, backslashes and control characters. `own_address` is the result of myIpAddress, by default the
// address from which packets leave this machine.
const char *_Nullable ccurl_pac_find(
    const char *_Nonnull url, const char *_Nonnull host, const char *_Nullable own_address);
// Returns the first error message of the last call; empty if there was none.
const char *_Nonnull ccurl_pac_message(void);

#endif
