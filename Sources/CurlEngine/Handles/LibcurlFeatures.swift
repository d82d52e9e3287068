import CCurl
private import Glibc

/// The features of the running libcurl, as reported by the library itself, never by the headers of the build.
package struct LibcurlFeatures: Hashable, Sendable {
    /// The version as text, for example `7.88.1`.
    package let version: String
    /// The version as a number, `0xXXYYZZ`.
    package let versionNumber: UInt32
    /// Whether HTTP/3 is compiled in.
    package let hasHTTP3: Bool
    /// libcurl's text about its TLS libraries, for example `OpenSSL/3.0.17`, if any.
    package let tlsLibrary: String?
    /// Whether libcurl's TLS library is the OpenSSL whose functions are called. Only then are names and certificates checked as
    /// promised.
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
        hasHTTP3 = bits & (1 << 25) != 0
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

    /// Whether libcurl's TLS sessions can be prepared for calls of the engine: OpenSSL has the functions for that.
    let preparesSessions: Bool
    /// Whether the engine can take a TLS session over from libcurl: 8.1.0 keeps bytes of the socket below TLS.
    var lendsSessions: Bool { preparesSessions && versionNumber != 0x080100 }

    /// Whether libcurl takes a socket that is connected as it is. 7.88 connects it again, which a Unix domain socket refuses.
    var takesConnectedSockets: Bool { isAtLeast(8, 0) }

    /// Whether libcurl percent-decodes the name and the password of a proxy, which is the case before 8.8.
    var decodesProxyCredentials: Bool { !isAtLeast(8, 8) }

    /// Whether libcurl has separate places for the credentials of an HTTP proxy and of a SOCKS proxy in front of it, as tried
    /// with 8.23. 7.88 computes the HTTP proxy's Digest authentication with the name and the password of the SOCKS proxy.
    /// The framework then computes it (``TunnelProofs``).
    package var separatesProxyCredentials: Bool { isAtLeast(8, 23) }
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
