import CurlEngine
public import FoundationEssentials

/// An X.509 certificate (RFC 5280), read for its properties. Reading a certificate does not verify it.
///
/// ```swift
/// let (_, response) = try await session.data(Request("https://example.com/").collectingServerTrust())
/// for certificate in response.serverTrust?.chain ?? [] {
///     print(certificate.subject, certificate.notAfter, certificate.publicKeyPin)
/// }
/// ```
public struct Certificate: Sendable {
    /// The properties behind one reference, because certificates are passed on with every list that has them.
    struct Properties: Sendable {
        let derRepresentation: Data
        let publicKeyPin: PublicKeyPin
        let subject: String
        let issuer: String
        let serialNumber: String
        let notBefore: Date
        let notAfter: Date
        let subjectAlternativeNames: [SubjectAlternativeName]
    }

    /// A name that the certificate is valid for (RFC 5280, section 4.2.1.6).
    public enum SubjectAlternativeName: Sendable, Hashable, CustomStringConvertible {
        /// The name of a host, which may begin with `*.`.
        case dnsName(String)
        /// An IP address as text.
        case ipAddress(String)
        /// A URI.
        case uri(String)
        /// An email address.
        case emailAddress(String)

        /// The name alone.
        public var description: String {
            switch self {
            case .dnsName(let name), .ipAddress(let name), .uri(let name), .emailAddress(let name): name
            }
        }
    }

    private let storage: Boxed<Properties>

    /// Creates a certificate from its DER encoding (X.690).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the bytes are not exactly one certificate, and of kind
    ///   ``TrellisError/Kind/unsupported`` if the process has no SHA-256 function.
    public init(derRepresentation: some DataProtocol) throws(TrellisError) {
        storage = Boxed(try Properties(ArraySlice([UInt8](derRepresentation))))
    }

    /// The DER encoding of the certificate.
    public var derRepresentation: Data { storage.value.derRepresentation }

    /// The pin of the public key, computed when the certificate is read.
    public var publicKeyPin: PublicKeyPin { storage.value.publicKeyPin }

    /// The name of the owner of the key, such as `C=US, O=Example, CN=www.example.com`, with special characters escaped as in RFC 4514. The
    /// hosts that the certificate is valid for are ``subjectAlternativeNames``.
    public var subject: String { storage.value.subject }

    /// The name of the authority that has signed the certificate, in the same form as ``subject``.
    public var issuer: String { storage.value.issuer }

    /// The serial number in lower-case hexadecimal digits.
    public var serialNumber: String { storage.value.serialNumber }

    /// The first instant at which the certificate is valid.
    public var notBefore: Date { storage.value.notBefore }

    /// The last instant at which the certificate is valid.
    public var notAfter: Date { storage.value.notAfter }

    /// The names that the certificate is valid for. Names of other kinds, which have no meaning for HTTPS, are left out.
    public var subjectAlternativeNames: [SubjectAlternativeName] { storage.value.subjectAlternativeNames }
}

extension Certificate: Hashable {
    /// Returns whether the encodings are the same.
    public static func == (one: Certificate, other: Certificate) -> Bool {
        one.storage === other.storage || one.derRepresentation == other.derRepresentation
    }

    /// Hashes the encoding.
    public func hash(into hasher: inout Hasher) { hasher.combine(derRepresentation) }
}

extension Certificate: CustomStringConvertible {
    /// The subject and the pin.
    public var description: String { "\(subject.isEmpty ? "no subject" : subject) (\(publicKeyPin))" }
}
