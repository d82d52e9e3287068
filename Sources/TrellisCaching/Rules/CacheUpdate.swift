import CurlEngine
import HTTPTypes
import TrellisCore

/// The changes of stored responses by later responses (RFC 9111, sections 3.2, 4.3.4, 4.3.5 and 4.4).
enum CacheUpdate {
    // MARK: Validation

    /// Returns the fields that ask the origin whether a stored response is still valid (RFC 9111, section 4.3.1).
    static func conditions(for head: StoredHead) -> HTTPFields {
        var fields = HTTPFields()
        if let tag = head.entityTag { fields[.ifNoneMatch] = tag }
        if head.lastModified != nil, let text = head.headers.single(.lastModified) { fields[.ifModifiedSince] = text }
        return fields
    }

    /// Returns the indices of the stored responses that a 304 is about (RFC 9111, section 4.3.4), the latest last: all with the same strong
    /// entity tag, or else the latest with the same weak validators. Without validators in the 304, that is the response whose validators
    /// were sent, or a response without validators that is alone.
    ///
    /// - Parameter asked: The index of the response whose validators were sent; `nil` if the conditions are the caller's.
    static func indices(of notModified: HTTPFields, in heads: [StoredHead], asked: Int? = nil) -> [Int] {
        func matching(_ isMatch: (StoredHead) -> Bool) -> [Int] {
            heads.indices.filter { isMatch(heads[$0]) }.sorted { heads[$0].date < heads[$1].date }
        }
        if let tag = notModified.single(.eTag) {
            if !tag.hasBytePrefix("W/") { return matching { $0.entityTag?.hasSameBytes(as: tag) ?? false } }
            return Array(matching { $0.entityTag.map { EntityTags.contains([$0], tag) } ?? false }.suffix(1))
        }
        if let text = notModified.single(.lastModified) {
            return Array(matching { $0.deciding.single(.lastModified)?.hasSameBytes(as: text) ?? false }.suffix(1))
        }
        if let asked { return [asked] }
        return heads.count == 1 && !heads[0].hasValidator ? [0] : []
    }

    /// Returns a stored head with the fields of a newer response to the same request (RFC 9111, section 3.2).
    ///
    /// - Parameters:
    ///   - head: The stored head.
    ///   - newer: The head of a 304, or of the response to a `HEAD`.
    ///   - policy: The rules. In the cache of many users, the cookies of one user's validation are not stored for the others.
    static func updated(_ head: StoredHead, with newer: StoredHead, _ policy: CachePolicy) -> StoredHead {
        var updated = head
        (updated.requestTime, updated.responseTime) = (newer.requestTime, newer.responseTime)
        let fields = ConnectionFields.removed(from: newer.headers).filter { field in
            !isKept(field.name) && !(policy.isShared && field.name == .setCookie)
        }
        for name in Set(fields.map(\.name)) { updated.headers[values: name] = [] }
        // The age of the stored response is not the newer one's.
        updated.headers[values: .age] = []
        for field in fields { updated.headers.append(field) }
        // A response without a Date was made when it was received (RFC 9110, section 6.6.1), not when the stored one was.
        if !fields.contains(where: { $0.name == .date }), updated.headers.contains(.date) {
            updated.headers[values: .date] = [newer.responseTime.date.text]
        }
        return updated
    }

    /// Returns whether a stored field keeps its value, because it describes the stored body (RFC 9111, section 3.2).
    private static func isKept(_ name: HTTPField.Name) -> Bool {
        switch name {
        case .contentEncoding, .contentLength, .contentRange, .contentType: true
        // In a 304, this is the digest of no content (RFC 9530, section 2). Content-MD5 was the representation's.
        default: name.canonicalName == "content-digest"
        }
    }

    /// Returns whether the response to a `HEAD` says that a stored response still answers a `GET` (RFC 9111, section 4.3.5). A stored
    /// failure or redirect does not belong to a URL that has a representation.
    static func isConfirmed(_ head: StoredHead, by response: StoredHead) -> Bool {
        guard response.status == 200, head.status == 200 || head.status == 206 else { return false }
        func agrees(_ name: HTTPField.Name) -> Bool {
            guard let new = response.headers.single(name) else { return response.headers[values: name].isEmpty }
            return head.headers.single(name)?.hasSameBytes(as: new) ?? false
        }
        func agreesOnLength() -> Bool {
            // The length of a stored part is not the representation's, which its range tells.
            guard head.status == 206, let new = response.headers.single(.contentLength) else {
                return agrees(.contentLength)
            }
            return head.part.map { $0.total == ContentRange.number(new) } ?? false
        }
        return agrees(.eTag) && agrees(.lastModified) && agreesOnLength()
    }

    /// Returns whether a response may give a stored one its `Vary`. The stored one keeps only those fields of its request that its own
    /// `Vary` names: with another one, only the same entity tag tells that it was made for a request like the response's.
    static func mayReselect(_ head: StoredHead, with newer: StoredHead) -> Bool {
        let (old, new) = (head.headers[values: .vary], newer.headers[values: .vary])
        if new.isEmpty || new.elementsEqual(old, by: { $0.hasSameBytes(as: $1) }) { return true }
        guard let tag = head.entityTag, let other = newer.entityTag else { return false }
        return tag.hasSameBytes(as: other)
    }

    // MARK: Invalidation

    /// Returns the URLs whose stored responses are no longer valid after a response (RFC 9111, section 4.4): after an unsafe method, or one
    /// that is not known, and a final status that is no error. They are the request's, and `Location`'s and `Content-Location`'s if they
    /// have the same origin.
    static func invalidatedURLs(
        after method: HTTPRequest.Method, to url: WireURL, status: Int, headers: HTTPFields
    ) -> [WireURL] {
        guard !isSafe(method), 200...399 ~= status else { return [] }
        let others = headers.filter { $0.name == .location || $0.name == .contentLocation }.compactMap { field in
            try? WireURL(parsing: URLReference(field.urlReference).resolved(against: URLReference(url.text)).text)
        }
        return [url] + others.filter { $0.origin.hasSameBytes(as: url.origin) }
    }

    /// Returns whether a method only reads (RFC 9110, section 9.2.1).
    static func isSafe(_ method: HTTPRequest.Method) -> Bool {
        switch method.rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH": true
        default: false
        }
    }
}

/// The fields with digests of a message's content, which another message with the same representation does not have.
enum ContentDigests {
    /// The names, in lower case (RFC 9530, section 2, and RFC 1864).
    static let names: Set<String> = ["content-digest", "content-md5"]
}

/// The fields that concern a connection, not a message (RFC 9110, section 7.6.1).
enum ConnectionFields {
    /// Returns fields without the connection's, and without those that `Connection` names: they are not stored (RFC 9111, section 3.1).
    /// Nor is the length of a body that a `Transfer-Encoding` has framed (RFC 9112, section 6.3).
    static func removed(from headers: HTTPFields) -> HTTPFields {
        guard headers.contains(where: { isOfConnection($0.name.canonicalName) }) else { return headers }
        var named: [String] = []
        for field in headers {
            if field.name == .transferEncoding { named.append("content-length") }
            guard field.name == .connection else { continue }
            for element in FieldScanner.elements(of: field.value) {
                named.append(String(Substring(element.utf8.trimmingBlanks)).lowercasedASCII())
            }
        }
        // Removing the few is faster than making a list of the others.
        var rest = headers
        for index in headers.indices.reversed() {
            let name = headers[index].name.canonicalName
            if isOfConnection(name) || named.contains(where: { $0.hasSameBytes(as: name) }) { rest.remove(at: index) }
        }
        return rest
    }

    /// Returns whether a field concerns a connection even if `Connection` does not name it.
    private static func isOfConnection(_ name: String) -> Bool {
        // Most names have another length, which is found out faster.
        switch name.utf8.count {
        case 2: name == "te"
        case 7: name == "upgrade"
        case 10: name == "connection" || name == "keep-alive"
        case 16: name == "proxy-connection"
        case 17: name == "transfer-encoding"
        case 18: name == "proxy-authenticate"
        case 19: name == "proxy-authorization"
        case 25: name == "proxy-authentication-info"
        default: false
        }
    }
}
