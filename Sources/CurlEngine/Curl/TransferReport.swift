import CCurl

/// What libcurl measured of one transfer.
package struct TransferReport: Hashable, Sendable {
    /// From the start of the transfer, in microseconds: name resolved, connected, TLS done, first response byte. Zero
    /// where it did not come to that or the connection was reused.
    package var nameLookup: Int64 = 0
    package var connect: Int64 = 0
    package var tls: Int64 = 0
    package var firstByte: Int64 = 0
    /// Request head and body, in bytes.
    package var bytesSent: Int64 = 0
    /// Response heads and body as they came over the wire, in bytes.
    package var bytesReceived: Int64 = 0
    /// No connection was made for it.
    package var reusedConnection = false
    package var peerAddress = ""
    package var peerPort = 0

    package init() {}

    /// - Parameter hasInlineBody: The body was handed to libcurl whole, and goes out with the head.
    init(_ easy: UnsafeMutableRawPointer, hasInlineBody: Bool) {
        reusedConnection = unsafe ccurl_get_long(easy, CURLINFO_NUM_CONNECTS) == 0
        if !reusedConnection {
            nameLookup = unsafe Int64(ccurl_get_offset(easy, CURLINFO_NAMELOOKUP_TIME_T))
            connect = unsafe Int64(ccurl_get_offset(easy, CURLINFO_CONNECT_TIME_T))
            tls = unsafe Int64(ccurl_get_offset(easy, CURLINFO_APPCONNECT_TIME_T))
        }
        firstByte = unsafe Int64(ccurl_get_offset(easy, CURLINFO_STARTTRANSFER_TIME_T))
        let responseHead = unsafe ccurl_get_long(easy, CURLINFO_HEADER_SIZE)
        bytesSent = unsafe Self.bytesSent(easy, hasInlineBody: hasInlineBody)
        bytesReceived = unsafe Int64(responseHead) + Int64(ccurl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T))
        if let address = unsafe ccurl_get_string(easy, CURLINFO_PRIMARY_IP) {
            peerAddress = unsafe String(cString: address)
        }
        peerPort = unsafe ccurl_get_long(easy, CURLINFO_PRIMARY_PORT)
        if peerAddress.isEmpty { reusedConnection = false }
    }

    /// What libcurl calls the size of the request is that of its head. From 8.8 on all of the body is counted there too, and
    /// before that what is sent with the head, as short bodies are; 8.7 counts nothing there.
    private static func bytesSent(_ easy: UnsafeMutableRawPointer, hasInlineBody: Bool) -> Int64 {
        let request = unsafe Int64(ccurl_get_long(easy, CURLINFO_REQUEST_SIZE))
        let body = unsafe Int64(ccurl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T))
        let isCountedTwice = LibcurlFeatures.current.isAtLeast(8, 8) || (hasInlineBody && body <= request)
        return isCountedTwice ? max(request, body) : request + body
    }
}
