import CurlEngine
import HTTPTypes

/// What a download asks a server for, and what it makes of the answer. A pure decision: what is not certain to belong to the
/// same representation is never glued to what is there.
enum DownloadQuestion: Hashable, Sendable {
    /// All of it.
    case whole
    /// The bytes from one on, up to the one before another where that is given, of a representation that did not change.
    case part(from: Int64, to: Int64?, of: Representation)

    /// What follows from the head of an answer.
    enum Verdict: Hashable, Sendable {
        /// The body is all there is.
        case whole(Representation)
        /// The body is these bytes; `nil`: so many in all, where the answer says so.
        case part(Range<Int64>, total: Int64?)
        /// Nothing is missing.
        case complete
        /// The answer is of no use, and what is there neither: ask for all of it. Why, in words.
        case askForWhole(String)
        /// The server is not well at the moment.
        case busy
        /// The status is none of a download, and stays it.
        case refused
        /// It is no answer to the question.
        case malformed(String)
    }

    /// The fields that ask it.
    var fields: [HTTPField] {
        guard case .part(let start, let end, let representation) = self, let validator = representation.validator else {
            return []
        }
        let last = end.map { "\($0 - 1)" } ?? ""
        return [
            HTTPField(name: .range, value: "bytes=\(start)-\(last)"), HTTPField(name: .ifRange, value: validator.text),
        ]
    }

    /// Judges an answer by its head.
    ///
    /// - Parameter url: What has answered, after all redirects.
    func verdict(status: Int, fields: HTTPFields, of url: String? = nil) -> Verdict {
        switch (self, status) {
        case (.whole, 206): .malformed("it is a part that nobody asked for")
        case (.part(_, _, let representation), 206), (.part(_, _, let representation), 416):
            if representation.isOfResource(url) { verdict(status, fields) } else { .askForWhole("another resource") }
        default: verdict(status, fields, of: url)
        }
    }

    private func verdict(_ status: Int, _ fields: HTTPFields, of url: String? = nil) -> Verdict {
        switch (self, status) {
        case (_, 206): verdict(onPart: fields)
        // The server knows no ranges, or the representation is another one by now.
        case (_, 200..<300): .whole(Representation(fields, of: url))
        case (.part(let start, _, let representation), 416): Self.verdict(on416: fields, start, representation)
        // Too Early (RFC 8470, section 5.2) is transient for downloads alone: a question for a part is repeated as it was.
        case (_, 425): .busy
        case (_, let code) where HTTPResponse.Status(code: code).isTransient: .busy
        default: .refused
        }
    }

    private func verdict(onPart fields: HTTPFields) -> Verdict {
        guard case .part(let start, let end, let representation) = self else { return .askForWhole("not asked for") }
        if let type = fields[.contentType], type.lowercased().hasBytePrefix("multipart/byteranges") {
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
        return .part(range, total: total ?? representation.total)
    }

    /// Whoever has another representation by now takes no notice of the range (RFC 9110, section 13.1.5), and not every server
    /// repeats the tag.
    private static func isSame(_ representation: Representation, _ fields: HTTPFields) -> Bool {
        guard let validator = representation.validator else { return false }
        if fields[.eTag] == nil, representation.total != nil { return true }
        return validator.fits(partWith: fields)
    }

    /// There is nothing from there on. That is as it should be where there is nothing beyond what is there already.
    private static func verdict(on416 fields: HTTPFields, _ start: Int64, _ representation: Representation) -> Verdict {
        guard case .unsatisfied(let total)? = fields[.contentRange].flatMap({ ContentRange($0) }), total == start,
            representation.total ?? total == total, isSame(representation, fields)
        else { return .askForWhole("no such range") }
        return .complete
    }
}
