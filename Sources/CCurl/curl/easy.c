#include "CCurl.h"

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }

CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_url(CURL *easy, CURLU *url) { return curl_easy_setopt(easy, CURLOPT_CURLU, url); }

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) { return curl_easy_setopt(easy, option, value); }

CURLcode ccurl_set_data_function(CURL *easy, CURLoption option, ccurl_data_callback function) {
  return curl_easy_setopt(easy, option, function);
}

CURLcode ccurl_set_debug_function(CURL *easy, ccurl_debug_callback function) {
  return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
}

CURLcode ccurl_set_seek_function(CURL *easy, ccurl_seek_callback function) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

CURLcode ccurl_set_prereq_function(CURL *easy, ccurl_prereq_callback function) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

CURLcode ccurl_set_opensocket_function(CURL *easy, ccurl_opensocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

static int socket_is_connected(void *context, curl_socket_t fd, curlsocktype purpose) {
  (void)context, (void)fd, (void)purpose;
  return CURL_SOCKOPT_ALREADY_CONNECTED;
}

CURLcode ccurl_set_sockets_connected(CURL *easy, bool are_connected) {
  curl_sockopt_callback function = are_connected ? socket_is_connected : NULL;
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}

CURLcode ccurl_set_closesocket_function(CURL *easy, ccurl_closesocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

CURLcode ccurl_set_blob(CURL *easy, CURLoption option, const void *data, size_t length) {
  struct curl_blob blob = {.data = (void *)data, .len = length, .flags = CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t ccurl_get_offset(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

void *ccurl_get_pointer(CURL *easy, CURLINFO info) {
  char *value = NULL;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

curl_socket_t ccurl_get_socket(CURL *easy, CURLINFO info) {
  curl_socket_t value = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}
