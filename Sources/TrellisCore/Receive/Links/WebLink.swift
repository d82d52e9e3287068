import CurlEngine

/// A link of a response (RFC 8288), such as the one to the next page of a list.
public struct WebLink: Sendable, Hashable {
    /// The target, resolved against the URL of the response.
    public let url: String
    /// The relations of the target to the response, in lower case, such as `next`. A link may have several.
    public let relations: [String]
    /// The URL that the link belongs to (`anchor`), if it is another than the response's.
    public let anchor: String?
    /// The parameters by their names in lower case.
    private let parameters: [String: String]

    init(url: String, relations: [String], anchor: String?, parameters: [String: String]) {
        self.url = url
        self.relations = relations
        self.anchor = anchor
        self.parameters = parameters
    }

    /// The value of a parameter, if any: `link["title"]`. The name is case-insensitive. A parameter without a value has an empty
    /// one, and of several with the same name the first counts. An extended value (`title*`, RFC 8187) takes precedence over a plain one.
    public subscript(_ parameter: String) -> String? { parameters[parameter.lowercasedASCII()] }
}

extension WebLink: CustomStringConvertible {
    /// The relations, and the URL without its secrets.
    public var description: String { "\(relations.joined(separator: " ")): \(URLRedaction.redact(url))" }
}

/// The links of a response, in the order in which they were received: see ``Response/links``.
public struct WebLinks: RandomAccessCollection, Sendable, Hashable {
    private let all: [WebLink]

    init(_ all: [WebLink]) { self.all = all }

    /// The position of the first link.
    public var startIndex: Int { all.startIndex }

    /// The position after the last link.
    public var endIndex: Int { all.endIndex }

    /// The link at a position.
    public subscript(_ position: Int) -> WebLink { all[position] }

    /// The first link with a relation such as `next`, if any. Relations are case-insensitive. Links with an ``WebLink/anchor`` belong to
    /// another resource, and are left out.
    public subscript(_ relation: String) -> WebLink? {
        let relation = relation.lowercasedASCII()
        return all.first { link in
            link.anchor == nil && link.relations.contains { $0.hasSameBytes(as: relation) }
        }
    }
}

extension Response {
    /// The links in the `Link` fields of the response (RFC 8288, section 3). A malformed one ends its field:
    ///
    /// ```swift
    /// let (data, response) = try await session.data("https://api.example.com/items")
    /// if let next = response.links["next"] { print(next.url) }
    /// ```
    ///
    /// The fields are parsed at each use. To read all pages of a list, see
    /// ``Session/pages(of:from:decoder:maximumPages:query:headers:timeout:timeouts:interceptor:)-(_,_,_,_,_,HTTPFields,_,_,_)``.
    public var links: WebLinks {
        WebLinks(headers[fields: .link].flatMap { WebLinkParser.links(in: $0.urlReference, of: url) })
    }
}
