import CurlEngine
public import FoundationEssentials
public import HTTPTypes
import TrellisCore

/// The head of a response in a cache, with what decides about its use.
public struct CachedHead: Sendable {
    /// The status and the fields, with the times.
    var stored: StoredHead {
        didSet {
            selection = VarySelection(of: stored.deciding, request: requestHeaders)
            facts = nil
        }
    }
    /// The fields of the request that the response's `Vary` names.
    public let requestHeaders: HTTPFields
    /// The selection by the request's fields; `nil` if the response answers no other request.
    private(set) var selection: VarySelection?
    /// The facts that follow from the head under the rules of the last cache that needed them; `nil` if none did.
    private(set) var facts: CacheFacts?

    /// The status, with its registered phrase instead of the one that was received.
    public var status: HTTPResponse.Status { .registered(stored.status) }
    /// The fields as they were received, without those that concern only the connection.
    public var headers: HTTPFields {
        get { stored.headers }
        set { stored.headers = newValue }
    }
    /// The instant at which the request was sent.
    public var requestDate: Date { stored.requestTime.foundationDate }
    /// The instant at which the head was received.
    public var responseDate: Date { stored.responseTime.foundationDate }

    /// Creates a head for a storage that has kept its parts.
    public init(
        status: HTTPResponse.Status, headers: HTTPFields, requestHeaders: HTTPFields, requestDate: Date,
        responseDate: Date
    ) {
        self.init(
            StoredHead(
                status: status.code, headers: headers, requestTime: CacheTime(requestDate),
                responseTime: CacheTime(responseDate)), request: requestHeaders)
    }

    /// Creates the head of a response to a request with these fields.
    init(_ stored: StoredHead, request: HTTPFields) {
        self.stored = stored
        guard stored.mayVary else {
            selection = VarySelection.always
            requestHeaders = HTTPFields()
            return
        }
        selection = VarySelection(of: stored.deciding, request: request)
        let names = selection?.names ?? []
        requestHeaders = names.isEmpty ? HTTPFields() : request.filter { names.contains($0.name) }
    }

    /// Finds out what follows from the head under the rules of a cache.
    mutating func judge(_ rules: Boxed<CachePolicy>) -> CacheFacts {
        let facts = CacheFacts(stored, selection: selection, rules)
        self.facts = facts
        return facts
    }

    /// The part of the representation that the body is, and the length of the complete one; `nil` if the body is complete.
    var part: (range: Range<Int64>, total: Int64)? { stored.part }

    /// The text that is the same for the responses of a URL that replace each other: the fields that `Vary` names, with the request's
    /// values in a comparable form.
    public var variant: String { selection?.text ?? "*" }
}

extension CachedHead: Hashable {
    /// Returns whether two heads have the same fields, times and request fields.
    public static func == (one: CachedHead, other: CachedHead) -> Bool {
        one.stored == other.stored && one.requestHeaders == other.requestHeaders
    }

    /// Hashes the same parts that are compared.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(stored)
        hasher.combine(requestHeaders)
    }
}

extension CacheTime {
    init(_ date: Date) { milliseconds = Int64((date.timeIntervalSince1970 * 1000).clamped(to: -1e15...1e15)) }

    var foundationDate: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Double {
    fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
        isNaN ? 0 : min(max(self, range.lowerBound), range.upperBound).rounded(.down)
    }
}
