import CCurl

/// The lists that a handle has given to libcurl, which does not copy them.
@safe
struct OptionLists {
    /// The header lines of the request, if any.
    var headers: UnsafeMutablePointer<curl_slist>?
    /// libcurl's list of the host and port of the route.
    var connect: UnsafeMutablePointer<curl_slist>?
    /// libcurl's list of addresses to add to its cache.
    var resolve: UnsafeMutablePointer<curl_slist>?
    /// libcurl's list of the header lines for the proxy of the route.
    var proxyHeaders: UnsafeMutablePointer<curl_slist>?

    /// Releases the lists, which libcurl no longer uses.
    func free() {
        unsafe ccurl_free(headers)
        unsafe ccurl_free(connect)
        unsafe ccurl_free(resolve)
        unsafe ccurl_free(proxyHeaders)
    }
}
