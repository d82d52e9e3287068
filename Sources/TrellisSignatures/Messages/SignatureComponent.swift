import CurlEngine
import TrellisCore

/// A part of a message that a signature covers (RFC 9421, section 2): something derived from it, such as its method, or a field.
///
/// ```swift
/// let components: [SignatureComponent] = [.method, .targetURI, "content-digest", .queryParameter("page"), .field("priority").member("u")]
/// ```
///
/// The literal of a text is the name of a field, or of a derived component such as `@method`.
public struct SignatureComponent: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name in lower case: `@method`, `content-digest`.
    public let name: String
    private(set) var parameters: [StructuredParameter] = []

    init(name: String, _ parameters: [StructuredParameter] = []) {
        (self.name, self.parameters) = (name.lowercasedASCII(), parameters)
    }

    /// Creates the component with a name.
    public init(stringLiteral name: String) { self.init(name: name) }

    /// Returns a field, all of its lines joined with commas (RFC 9421, section 2.1). `Host` and the fields that frame a message cannot be
    /// signed: see ``/Trellis/WireRequest/headers``.
    public static func field(_ name: String) -> SignatureComponent { SignatureComponent(name: name) }

    /// The method of the request (RFC 9421, section 2.2.1).
    public static let method: SignatureComponent = "@method"
    /// The whole URL of the request, without a fragment (RFC 9421, section 2.2.2).
    public static let targetURI: SignatureComponent = "@target-uri"
    /// The host, and a port other than the scheme's (RFC 9421, section 2.2.3).
    public static let authority: SignatureComponent = "@authority"
    /// The scheme of the URL (RFC 9421, section 2.2.4).
    public static let scheme: SignatureComponent = "@scheme"
    /// The path and the query as they are in the request line (RFC 9421, section 2.2.5). A proxy may change their form.
    public static let requestTarget: SignatureComponent = "@request-target"
    /// The path (RFC 9421, section 2.2.6).
    public static let path: SignatureComponent = "@path"
    /// The query with its question mark, which is all that a request without a query has (RFC 9421, section 2.2.7).
    public static let query: SignatureComponent = "@query"
    /// The status of the response (RFC 9421, section 2.2.9).
    public static let status: SignatureComponent = "@status"

    /// Returns the parameter of a query in the format of forms (RFC 9421, section 2.2.8). A name that the query has twice cannot be signed.
    ///
    /// - Parameter name: The name without percent-encoding.
    public static func queryParameter(_ name: String) -> SignatureComponent {
        SignatureComponent(name: "@query-param", [StructuredParameter("name", .string(FormText.encoded(name)))])
    }

    /// Returns the field in the strict form of its structured type (`sf`; RFC 9421, section 2.1.1). The type must be known: see
    /// ``StructuredFieldType``.
    public var structured: SignatureComponent { adding("sf", .boolean(true)) }

    /// Returns one member of a field that is a dictionary (`key`; RFC 9421, section 2.1.2).
    public func member(_ key: String) -> SignatureComponent { adding("key", .string(key)) }

    /// Returns the lines of the field as bytes (`bs`; RFC 9421, section 2.1.3), for values that are not ASCII or cannot be joined.
    public var bytes: SignatureComponent { adding("bs", .boolean(true)) }

    /// Returns the same component of the request, in the signature of its response (`req`; RFC 9421, section 2.4).
    public var ofRequest: SignatureComponent { adding("req", .boolean(true)) }

    /// Returns the field among the trailers of the response (`tr`; RFC 9421, section 2.1.4).
    public var ofTrailers: SignatureComponent { adding("tr", .boolean(true)) }

    private func adding(_ key: String, _ value: StructuredValue) -> SignatureComponent {
        SignatureComponent(name: name, parameters + [StructuredParameter(key, value)])
    }

    /// Whether the component is derived, and not a field.
    var isDerived: Bool { name.hasBytePrefix("@") }

    /// The component as an item of `Signature-Input`.
    var item: StructuredItem { StructuredItem(.string(name), parameters) }

    /// Creates the component of an item; `nil` if it is none: its name must be a string in lower case.
    init?(_ item: StructuredItem) {
        guard case .string(let name) = item.value, !name.isEmpty, name.hasSameBytes(as: name.lowercasedASCII()) else {
            return nil
        }
        self.init(name: name, item.parameters)
    }

    /// Returns whether a parameter without a value is set.
    func has(_ flag: String) -> Bool { parameters[flag] == .boolean(true) }

    /// The component with its parameters in the order of their names: their order has no meaning (RFC 9421, section 2).
    var sorted: SignatureComponent {
        SignatureComponent(name: name, parameters.sorted { $0.key < $1.key })
    }
}
