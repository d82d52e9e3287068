import CurlEngine
import HTTPTypes
import TrellisCore

/// A range request of a download, and the validation of its response. A pure value: bytes are appended to a partial file only if
/// they certainly belong to the same representation.
enum DownloadRangeRequest: Hashable, Sendable {
    /// The complete representation.
    case whole
    /// The bytes from one position on, up to another one (exclusive) if that is given, of a representation that must not have
    /// changed.
    case part(from: Int64, to: Int64?, of: Representation)

    /// The consequence of a response's head for the download.
    enum Decision: Hashable, Sendable {
        /// A body that is the complete representation.
        case whole(Representation)
        /// A body that is these bytes; the total is `nil` unless the response or an earlier one gave it.
        case part(Range<Int64>, total: Int64?)
        /// A response that confirms that no bytes are missing.
        case complete
        /// An unusable response: the bytes of the partial file are unusable too, and the complete representation has to be
        /// requested. The associated value is the reason in words.
        case askForWhole(String)
        /// A transient failure of the server, such as 503: the request is repeated.
        case busy
        /// A status outside 200 to 299 that is not transient: another attempt would get the same.
        case refused
        /// A response that does not fit the request; the associated value is the reason in words.
        case malformed(String)
    }

    /// The header fields of the request: `Range` and `If-Range` for a part, none for the complete representation.
    var fields: [HTTPField] {
        guard case .part(let start, let end, let representation) = self, let validator = representation.validator else {
            return []
        }
        let last = end.map { "\($0 - 1)" } ?? ""
        return [
            HTTPField(name: .range, value: "bytes=\(start)-\(last)"), HTTPField(name: .ifRange, value: validator.text),
        ]
    }

    /// Validates a response by its head.
    ///
    /// - Parameter url: The URL of the response, after all redirects.
    func decision(status: Int, fields: HTTPFields, of url: String? = nil) -> Decision {
        let isPart = ContentRange.claimsPart(status: status, fields)
        switch self {
        case .whole where isPart: return Self.unaskedPart
        case .part(let start, let end, let representation) where isPart || status == 416:
            guard representation.isOfResource(url) else { return .askForWhole("another resource") }
            guard isPart else { return Self.decision(on416: fields, start, representation) }
            return Self.decision(onPart: fields, status, from: start, to: end, of: representation)
        case .whole, .part: break
        }
        return switch status {
        // The server supports no ranges, or the representation has changed.
        case 200..<300: .whole(Representation(fields, of: url))
        // Too Early (RFC 8470, section 5.2) is transient for downloads alone: a request for a part is repeated as it was.
        case 425: .busy
        case let code where HTTPResponse.Status(code: code).isTransient: .busy
        default: .refused
        }
    }

    /// The decision on a part in response to a request without a range.
    static let unaskedPart = Decision.malformed("it is a part that nobody asked for")

    /// Validates a part: every field has to fit the request and the representation. A part whose status is not 206 must also have the
    /// length of its range, because the status says that the body is complete.
    private static func decision(
        onPart fields: HTTPFields, _ status: Int, from start: Int64, to end: Int64?, of representation: Representation
    ) -> Decision {
        if let type = fields[.contentType], type.lowercasedASCII().hasBytePrefix("multipart/byteranges") {
            return .askForWhole("several parts")
        }
        guard !Representation.isCoded(fields) else { return .askForWhole("a part of a coded body") }
        guard representation.validator?.fits(partWith: fields) == true else {
            return .askForWhole("another representation")
        }
        guard case .part(let range, let total)? = fields[.contentRange].flatMap({ ContentRange($0) }) else {
            return .askForWhole("no usable Content-Range")
        }
        guard range.lowerBound == start, range.upperBound <= end ?? .max else { return .askForWhole("another range") }
        if let total, let known = representation.total, total != known { return .askForWhole("another length") }
        if let known = representation.total, range.upperBound > known { return .askForWhole("another length") }
        if let length = fields[.contentLength], ContentRange.number(length) != Int64(range.count) {
            return .askForWhole("a Content-Length that is not that of the range")
        }
        if status != 206, !fields.contains(.contentLength) { return .askForWhole("another status than 206") }
        return .part(range, total: total ?? representation.total)
    }

    /// Returns whether a 416 is about the same representation. A server whose representation has changed ignores the range (RFC
    /// 9110, section 13.1.5), and not every server repeats the tag: a 416 without a tag fits if the total is known.
    private static func isSame(_ representation: Representation, _ fields: HTTPFields) -> Bool {
        guard let validator = representation.validator else { return false }
        if fields[.eTag] == nil, representation.total != nil { return true }
        return validator.fits(partWith: fields)
    }

    /// Validates a 416: the representation has no bytes from the requested position on. The download is complete if that position
    /// is its end.
    private static func decision(on416 fields: HTTPFields, _ start: Int64, _ representation: Representation) -> Decision
    {
        guard case .unsatisfied(let total)? = fields[.contentRange].flatMap({ ContentRange($0) }), total == start,
            representation.total ?? total == total, isSame(representation, fields)
        else { return .askForWhole("no such range") }
        return .complete
    }
}
