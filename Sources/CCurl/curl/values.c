#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "CCurl.h"
#include "../system/lookup.h"

// Returns whether libcurl treats a field by this name like any other: it neither writes such a field unless there is one, nor omits it.
// The length is the name's.
static bool is_indifferent(const char *name, size_t length) {
  static const char *const names[] = {
      "user-agent", "accept-encoding", "accept-language", "authorization", "cookie", "traceparent", "tracestate",
  };
  // libcurl writes neither a User-Agent nor an Accept-Encoding, because the options for them are not set. For the same reason it has no
  // credentials for the server and no cookies. It omits these two fields only where it follows a redirect to another host.
  for (size_t index = 0; index < sizeof(names) / sizeof(names[0]); index++)
    if (strlen(names[index]) == length && strncasecmp(name, names[index], length) == 0) return true;
  return length > 2 && strncasecmp(name, "x-", 2) == 0;
}

// Returns whether a line has a name to which libcurl is indifferent, and a value. A line without a value has another form.
static bool can_be_joined(const char *line) {
  const char *colon = strchr(line, ':');
  return colon && colon[1] == ' ' && strspn(colon + 1, " \t") < strlen(colon + 1) &&
         is_indifferent(line, (size_t)(colon - line));
}

struct curl_slist *ccurl_list_pack(const void *lines, size_t length, size_t count) {
  if (count == 0) return NULL;
  // The end of a joined line takes one byte more than the zero byte.
  char *block = malloc(count * sizeof(struct curl_slist) + length + count);
  if (block == NULL) return NULL;
  struct curl_slist *nodes = (struct curl_slist *)block, *last = NULL;
  char *text = block + count * sizeof(struct curl_slist), *joined = NULL;
  const char *line = lines;
  for (size_t index = 0; index < count; index++) {
    size_t size = strlen(line) + 1;
    bool is_joined = can_be_joined(line);
    if (is_joined && joined) {
      // libcurl compares each entry with about forty names for every request, and copies it to the request as it is.
      text[-1] = '\r';
      *text++ = '\n';
    } else {
      struct curl_slist *node = last ? last + 1 : nodes;
      *node = (struct curl_slist){.data = text, .next = NULL};
      if (last) last->next = node;
      last = node;
      joined = is_joined ? text : NULL;
    }
    memcpy(text, line, size);
    text += size;
    line += size;
  }
  return nodes;
}

void ccurl_free(void *block) { free(block); }

// Reads a part of the URL that may be missing. A part with control characters cannot be decoded, and is an error: it must not be omitted.
static CURLUcode optional_part(CURLU *handle, CURLUPart part, CURLUcode missing, char **value) {
  CURLUcode code = curl_url_get(handle, part, value, CURLU_URLDECODE);
  return code == missing ? CURLUE_OK : code;
}

CURLUcode ccurl_url_parse(const char *text, struct ccurl_url *result) {
  memset(result, 0, sizeof(*result));
  CURLU *handle = curl_url();
  if (handle == NULL) return CURLUE_OUT_OF_MEMORY;
  // A fragment is never sent (RFC 9110, section 4.2.5), and user information is removed from the URL so that it cannot reach a log or
  // another host.
  CURLUcode code = curl_url_set(handle, CURLUPART_URL, text, CURLU_URLENCODE);
  if (code == CURLUE_OK) code = curl_url_set(handle, CURLUPART_FRAGMENT, NULL, 0);
  if (code == CURLUE_OK) code = optional_part(handle, CURLUPART_USER, CURLUE_NO_USER, &result->user);
  if (code == CURLUE_OK) code = optional_part(handle, CURLUPART_PASSWORD, CURLUE_NO_PASSWORD, &result->password);
  if (code == CURLUE_OK) {
    (void)curl_url_set(handle, CURLUPART_USER, NULL, 0);
    (void)curl_url_set(handle, CURLUPART_PASSWORD, NULL, 0);
  }
  char *port = NULL;
  if (code == CURLUE_OK) code = curl_url_get(handle, CURLUPART_SCHEME, &result->scheme, 0);
  if (code == CURLUE_OK) code = curl_url_get(handle, CURLUPART_HOST, &result->host, 0);
  if (code == CURLUE_OK) code = curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
  if (code == CURLUE_OK) code = curl_url_get(handle, CURLUPART_URL, &result->url, CURLU_NO_DEFAULT_PORT);
  if (port != NULL) result->port = strtol(port, NULL, 10);
  curl_free(port);
  result->handle = handle;
  if (code != CURLUE_OK) ccurl_url_free(result);
  return code;
}

void ccurl_url_free(struct ccurl_url *result) {
  curl_url_cleanup(result->handle);
  curl_free(result->url);
  curl_free(result->scheme);
  curl_free(result->host);
  curl_free(result->user);
  curl_free(result->password);
  memset(result, 0, sizeof(*result));
}

CURLU *ccurl_url_with_target(CURLU *root, const char *target, size_t query) {
  CURLU *handle = curl_url_dup(root);
  if (handle == NULL) return NULL;
  char *path = strndup(target, query);
  CURLUcode code = path == NULL ? CURLUE_OUT_OF_MEMORY : curl_url_set(handle, CURLUPART_PATH, path, 0);
  free(path);
  if (code == CURLUE_OK) {
    code = curl_url_set(handle, CURLUPART_QUERY, target[query] == '?' ? target + query + 1 : NULL, 0);
  }
  if (code == CURLUE_OK) return handle;
  curl_url_cleanup(handle);
  return NULL;
}

char *ccurl_idn_to_ascii(const char *name) {
  typedef int (*lookup_function)(const uint8_t *, uint8_t **, int);
  enum { NFC_INPUT = 1, NONTRANSITIONAL = 8 };
  lookup_function lookup = (lookup_function)dlsym(ccurl_library_of_curl(), "idn2_lookup_u8");
  uint8_t *result = NULL;
  if (lookup == NULL || lookup((const uint8_t *)name, &result, NFC_INPUT | NONTRANSITIONAL) != 0) return NULL;
  return (char *)result;
}
