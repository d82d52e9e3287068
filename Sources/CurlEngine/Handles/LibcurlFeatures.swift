import CCurl
private import Glibc

/// The features of the running libcurl, as reported by the library itself, never by the headers of the build.
package struct LibcurlFeatures: Hashable, Sendable {
    /// The version as text, for example `7.88.1`.
    package let version: String
    /// The version as a number, `0xXXYYZZ`.
    package let versionNumber: UInt32
    /// Whether HTTP/2 is compiled in.
    package let hasHTTP2: Bool
    /// Whether HTTP/3 is compiled in.
    package let hasHTTP3: Bool
    /// Whether TLS is compiled in.
    package let hasTLS: Bool
    /// libcurl's text about its TLS libraries, for example `OpenSSL/3.0.17`, if any.
    package let tlsLibrary: String?
    /// Whether libcurl's TLS library is the OpenSSL whose functions are called. Only then are names and certificates checked as
    /// promised, and connections with streams known.
    package let hasOpenSSL: Bool
    /// The path of the certificate bundle that libcurl was built to trust.
    package let certificateFile: String?
    /// The path of the directory of certificates that libcurl was built to trust.
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
        unsafe tlsLibrary = info.ssl_version.map { unsafe String(cString: $0) }
        hasOpenSSL = ccurl_tls_has_openssl()
        preparesSessions = ccurl_tls_can_take()
        unsafe certificateFile = info.cainfo.map { unsafe String(cString: $0) }
        unsafe certificateDirectory = info.capath.map { unsafe String(cString: $0) }
    }

    /// Returns whether the running version is at least this one.
    package func isAtLeast(_ major: UInt32, _ minor: UInt32) -> Bool {
        versionNumber >= major << 16 | minor << 8
    }

    /// The sentence that tells why a libcurl without ``hasOpenSSL`` lacks it.
    package var lackOfOpenSSL: String {
        guard let tlsLibrary else { return "libcurl has no TLS" }
        return "libcurl has \(tlsLibrary), and not the OpenSSL whose functions this process finds"
    }

    /// Whether several requests may share an HTTP/2 connection. Before 8.4, a slow stream blocks its connection, and after resets
    /// of other streams a body that was cut short could be reported as complete.
    package var canMultiplex: Bool { isAtLeast(8, 4) }

    /// Whether libcurl's TLS sessions can be prepared for the engine's own calls: OpenSSL has the functions for that.
    let preparesSessions: Bool
    /// Whether the engine can take a TLS session over from libcurl: 8.1.0 keeps bytes of the socket below TLS.
    var lendsSessions: Bool { preparesSessions && versionNumber != 0x080100 }

    /// Whether libcurl takes a socket that is connected as it is. 7.88 connects it again, which a Unix domain socket refuses.
    var takesConnectedSockets: Bool { isAtLeast(8, 0) }

    /// Whether streams that the server or libcurl interrupts are reported as failed. Before 8.1, most of them are reported as
    /// complete.
    package var saysHowStreamsEnd: Bool { isAtLeast(8, 1) }

    /// Whether libcurl resets the HTTP/2 stream of a body that it gives up. Before 8.1, libcurl ends such a body with an empty
    /// frame, as if it were complete.
    var resetsGivenUpBodies: Bool { isAtLeast(8, 1) }

    /// Whether a cancelled HTTP/2 stream is reset at once. Before 8.4, libcurl 7.88 was seen to send the reset only with the next
    /// request on the connection.
    var resetsStreamsAtOnce: Bool { isAtLeast(8, 4) }

    /// Whether connections with HTTP/2 prior knowledge can be reused. Before 8.0, the second request fails.
    package var canReusePriorKnowledge: Bool { isAtLeast(8, 0) }

    /// Whether libcurl can send fields after a body. Before 8.7, it writes the bytes in front of their buffer into other memory.
    package var sendsTrailers: Bool { isAtLeast(8, 7) }

    /// Whether libcurl reports the size of a request after the request was sent.
    var countsRequests: Bool { Self.countsRequests(versionNumber) }

    /// Returns whether this version reports the size of requests; libcurl 8.7 reports zero for every request.
    static func countsRequests(_ versionNumber: UInt32) -> Bool { versionNumber >> 8 != 0x08_07 }

    /// Whether connections to abstract sockets can be reused. 7.88 takes such a connection, which has no address, for one whose
    /// name is being looked up, and opens another; 8.23 does not.
    package var reusesAbstractSockets: Bool { isAtLeast(8, 20) }

    /// Whether libcurl percent-decodes the name and the password of a proxy, which is the case before 8.8.
    var decodesProxyCredentials: Bool { !isAtLeast(8, 8) }

    /// Whether libcurl has separate places for the credentials of an HTTP proxy and of a SOCKS proxy in front of it, as tried
    /// with 8.23. 7.88 computes the HTTP proxy's Digest authentication with the name and the password of the SOCKS proxy,
    /// so that the framework computes it (``TunnelProofs``).
    package var separatesProxyCredentials: Bool { isAtLeast(8, 23) }

    /// Whether libcurl opens a tunnel through an HTTP proxy after a SOCKS proxy at a Unix domain socket, as tried with 7.88,
    /// 8.12 and 8.16. 8.23 does not.
    package var tunnelsBehindSockets: Bool { !isAtLeast(8, 17) }

    /// Whether libcurl connects as soon as it has the addresses of one kind, IPv4 or IPv6, and forgets them if it is connected
    /// before it has the other kind. This is the case from 8.20.
    var connectsDuringLookup: Bool { isAtLeast(8, 20) }

    /// Whether libcurl can be told to close all idle connections, which is the case from 8.16.
    var canLeaveConnections: Bool { isAtLeast(8, 16) }

    /// Whether the multi handle itself shares TLS sessions between its transfers, which is the case from 8.12.
    var sharesTLSSessions: Bool { isAtLeast(8, 12) }
}

/// The global state of libcurl, set up once and kept for the lifetime of the process.
struct LibcurlGlobals {
    static let shared = LibcurlGlobals()

    private init() {
        ccurl_global_init()
        _ = Self.process
        // The last functions run first: this one runs before those that libcurl's libraries have registered.
        atexit {
            // A child that was forked has no engine threads.
            if getpid() == LibcurlGlobals.process { Watchdog.shared.processWillExit() }
        }
    }

    private static let process = getpid()
}
