extension HARDocument {
    /// A name and a value: a header field, or an item of a query.
    public struct Field: Sendable, Hashable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// Whether the field is a secret by its mark, whatever its name (`HTTPField/indexingStrategy`). Not written.
        package var isMarkedSecret = false

        /// Creates a name with a value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        private enum CodingKeys: String, CodingKey { case name, value }
    }

    /// A cookie that was sent or received.
    public struct NamedCookie: Sendable, Hashable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// The attribute `Path`; `nil` if there is none.
        public var path: String?
        /// The attribute `Domain`; `nil` if there is none.
        public var domain: String?
        /// The attribute `Expires` in the form of RFC 3339; `nil` if there is none.
        public var expires: String?
        /// The attribute `HttpOnly`; `nil` for a cookie that was sent.
        public var httpOnly: Bool?
        /// The attribute `Secure`; `nil` for a cookie that was sent.
        public var secure: Bool?

        /// Creates a cookie without attributes.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A request as it was sent, without the fields that describe its connection and the framing of its body.
    public struct Request: Sendable, Hashable, Codable {
        /// The method.
        public var method: String
        /// The absolute URL.
        public var url: String
        /// The version, such as `HTTP/1.1`; empty if not known.
        public var httpVersion = ""
        /// The cookies of the field `Cookie`.
        public var cookies: [NamedCookie] = []
        /// The fields, in their order.
        public var headers: [Field]
        /// The items of the query, decoded.
        public var queryString: [Field] = []
        /// The body; `nil` if there is none.
        public var postData: PostData?
        /// The size of the head in bytes; -1 if not known.
        public var headersSize = -1
        /// The size of the body in bytes; -1 if not known.
        public var bodySize = 0

        /// Creates a request without a body.
        public init(method: String, url: String, headers: [Field] = []) {
            self.method = method
            self.url = url
            self.headers = headers
        }
    }

    /// The body of a request.
    public struct PostData: Sendable, Hashable, Codable {
        /// The media type.
        public var mimeType: String
        /// The body as text, or in the ``encoding``; `nil` if it was not kept.
        public var text: String?
        /// The encoding of the text, `base64`; `nil` if the body is text. In the file: `_encoding`.
        public var encoding: String?
        /// A comment, such as the reason why there is no text.
        public var comment: String?

        /// Creates a body.
        public init(mimeType: String, text: String? = nil, encoding: String? = nil, comment: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.encoding = encoding
            self.comment = comment
        }

        private enum CodingKeys: String, CodingKey {
            case mimeType, text, comment
            case encoding = "_encoding"
        }
    }

    /// A response as it was received.
    public struct Response: Sendable, Hashable, Codable {
        /// The status code; 0 if no response has been received.
        public var status: Int
        /// The reason phrase.
        public var statusText = ""
        /// The version, such as `HTTP/1.1`; empty if not known.
        public var httpVersion = ""
        /// The cookies of the fields `Set-Cookie`.
        public var cookies: [NamedCookie] = []
        /// The fields, in their order.
        public var headers: [Field]
        /// The body.
        public var content = Content()
        /// The value of the field `Location`; empty if there is none.
        public var redirectURL = ""
        /// The size of the head in bytes; -1 if not known.
        public var headersSize = -1
        /// The size of the body on the wire in bytes; -1 if not known.
        public var bodySize = -1
        /// The number of bytes of all heads and the body that were received; `nil` if not known. In the file: `_transferSize`.
        public var transferSize: Int64?
        /// The failure in words; `nil` if the response is complete. In the file: `_error`, as Chrome writes it.
        public var error: String?

        /// Creates a response without a body.
        public init(status: Int = 0, headers: [Field] = []) {
            self.status = status
            self.headers = headers
        }

        private enum CodingKeys: String, CodingKey {
            case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize
            case transferSize = "_transferSize"
            case error = "_error"
        }
    }

    /// The body of a response, without its content codings.
    public struct Content: Sendable, Hashable, Codable {
        /// The size in bytes; -1 if not known.
        public var size = -1
        /// The media type; empty if not known.
        public var mimeType = ""
        /// The body as text, or in the ``encoding``; `nil` if it was not kept.
        public var text: String?
        /// The encoding of the text, `base64`; `nil` if the body is text.
        public var encoding: String?
        /// A comment, such as the reason why the text is not complete.
        public var comment: String?

        /// Creates the content of a body that was not kept.
        public init() {}
    }
}
