import CCurl

/// The options that a handle has given to libcurl.
struct GivenOptions {
    /// Whether ``OptionLists/headers`` is set in libcurl, instead of the default lines.
    var hasOwnHeaders = false
    /// Whether only the common options are set, so that the next transfer needs no reset.
    var isPristine = false
    /// The receive buffer size that was last set in libcurl, in bytes.
    var receiveBufferSize = 0
    /// Whether the body of the current transfer is in memory.
    var hasPostFields = false
    /// Whether libcurl resumes no TLS session.
    var forbidsResumption = false
    /// Whether libcurl leaves old entries in its cache of addresses at the end of the transfer.
    var keepsAddresses = false
    /// Whether libcurl's log is on for the current transfer, in order to find refused streams.
    var tellsWhatHappens = false
    /// Whether the handle has a request target instead of its URL's.
    var hasTarget = false
    /// Whether libcurl's log is on and libcurl reads bodies to the end of their streams.
    var watchesStream = false
    /// Whether libcurl's log is on until the tunnel through the proxy is open.
    var watchesTunnel = false
}

/// The system's errors of the sockets of the current transfer; 0 if there are none.
struct SocketErrors {
    /// The system's error of the last socket that could not be created for the transfer; 0 if there was none.
    var socket: Int32 = 0
    /// The system's error of the connection to the route's ``TransferRoute/socketPath``; 0 if there was none.
    var path: Int32 = 0
}

/// The lists that a handle has given to libcurl, which does not copy them.
@safe
struct OptionLists {
    /// The header lines of the last transfer that had its own; `nil` if there are no lines at all.
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
