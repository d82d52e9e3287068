import CServerTLS
import CurlEngine

/// A certificate with its key that was made at run time, for tests of TLS.
@safe
package final class IssuedCertificate: @unchecked Sendable {
    // Unchecked: the certificate and its key do not change after their creation.

    /// The uses of a certificate (RFC 5280, section 4.2.1).
    package enum Use: Sendable, Hashable {
        /// The certificate issues others.
        case authority
        /// The certificate authenticates a server.
        case server
        /// The certificate authenticates a client.
        case client
    }

    let handle: OpaquePointer

    /// Creates a certificate; `nil` if OpenSSL is missing, or if it refuses a name.
    ///
    /// - Parameters:
    ///   - commonName: The common name of the subject, at most 64 characters.
    ///   - names: The names and literal addresses that the certificate is for. A name may have a wildcard.
    ///   - use: The use of the certificate.
    ///   - begin: The beginning of its validity in seconds from now; negative for the past.
    ///   - end: The end of its validity in seconds from now.
    ///   - issuer: The certificate that issues this one; `nil` if this one is its own issuer.
    package init?(
        commonName: String, names: [String] = [], use: Use, begin: Int64, end: Int64, issuer: IssuedCertificate?
    ) {
        guard names.allSatisfy(Self.isPlain) else { return nil }
        let list = names.map { (IPAddress($0) == nil ? "DNS:" : "IP:") + $0 }.joined(separator: ",")
        let kind =
            switch use {
            case .authority: CCURL_CERTIFICATE_AUTHORITY
            case .server: CCURL_CERTIFICATE_SERVER
            case .client: CCURL_CERTIFICATE_CLIENT
            }
        let alternativeNames: String? = list.isEmpty ? nil : list
        let created = unsafe ccurl_certificate_create(
            commonName, alternativeNames, kind, begin, end, issuer?.handle)
        guard let created = unsafe created else { return nil }
        unsafe handle = created
    }

    deinit { unsafe ccurl_certificate_free(handle) }

    /// The certificate in PEM (RFC 7468).
    package var pem: String { text(hasKey: false) }

    /// The certificate and its key in PEM.
    package var pemWithKey: String { text(hasKey: true) }

    private func text(hasKey: Bool) -> String {
        var length = 0
        guard let text = unsafe ccurl_certificate_pem(handle, hasKey, &length) else { return "" }
        defer { unsafe ccurl_certificate_free_pem(text, length) }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
    }

    /// Returns whether a name has only characters that mean nothing in OpenSSL's lists.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                    || UInt8(ascii: "0")...UInt8(ascii: ":") ~= byte || ".-*_".utf8.contains(byte)
            }
    }
}
