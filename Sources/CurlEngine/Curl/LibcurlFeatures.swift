import CCurl

/// What the libcurl that runs can do. Asked of the library itself, never of the headers it was built with.
package struct LibcurlFeatures: Hashable, Sendable {
    /// For example `7.88.1`.
    package let version: String
    /// `0xXXYYZZ`.
    package let versionNumber: UInt32
    /// HTTP/2 is compiled in.
    package let hasHTTP2: Bool
    /// HTTP/3 is compiled in.
    package let hasHTTP3: Bool
    /// TLS is compiled in.
    package let hasTLS: Bool
    /// The certificate bundle it was built to trust.
    package let certificateFile: String?
    /// The directory of certificates it was built to trust.
    package let certificateDirectory: String?

    /// The features of the running library.
    package static let current = LibcurlFeatures()

    private init() {
        _ = LibcurlGlobals.shared
        let info = unsafe ccurl_version_info().pointee
        unsafe version = String(cString: info.version)
        versionNumber = unsafe info.version_num
        let bits = unsafe Int64(info.features)
        hasHTTP2 = bits & (1 << 16) != 0
        hasHTTP3 = bits & (1 << 25) != 0
        hasTLS = bits & (1 << 2) != 0
        unsafe certificateFile = info.cainfo.map { unsafe String(cString: $0) }
        unsafe certificateDirectory = info.capath.map { unsafe String(cString: $0) }
    }

    /// Whether the running version is at least this one.
    package func isAtLeast(_ major: UInt32, _ minor: UInt32, _ patch: UInt32 = 0) -> Bool {
        versionNumber >= major << 16 | minor << 8 | patch
    }

    /// Several requests share an HTTP/2 connection. Before 8.4 a slow stream blocks its connection, and resets of
    /// neighbours could pass a body that was cut short as complete.
    package var canMultiplex: Bool { isAtLeast(8, 4) }

    /// Streams that the server or libcurl breaks off fail. Before 8.1 most of them pass as ended in order.
    var saysHowStreamsEnd: Bool { isAtLeast(8, 1) }

    /// Connections with HTTP/2 prior knowledge can be used again; before 8.0 the second request fails.
    package var canReusePriorKnowledge: Bool { isAtLeast(8, 0) }

    /// How large a request was is told when it has gone out.
    var countsRequests: Bool { Self.countsRequests(versionNumber) }

    /// libcurl 8.7 says zero of every request.
    static func countsRequests(_ versionNumber: UInt32) -> Bool { versionNumber >> 8 != 0x08_07 }

    /// The multi handle shares TLS sessions between its transfers by itself.
    var sharesTLSSessions: Bool { isAtLeast(8, 12) }
}

/// libcurl's global state, set up once and kept for the life of the process.
struct LibcurlGlobals {
    static let shared = LibcurlGlobals()

    private init() { curl_global_init(Int(CURL_GLOBAL_ALL)) }
}
