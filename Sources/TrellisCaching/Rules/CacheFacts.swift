import CurlEngine
import HTTPTypes
import TrellisCore

/// The facts that follow from a stored head under the rules of a cache. It is the same for every request, and found out once.
final class CacheFacts: Sendable {
    let head: StoredHead
    let status: HTTPResponse.Status
    /// The rules of the cache.
    let rules: Boxed<CachePolicy>
    /// The lifetime, with the directives that count.
    let freshness: CacheFreshness
    /// The instant at which the origin made the response.
    let date: CacheTime
    /// Whether the origin can be asked whether the response is still valid.
    let hasValidator: Bool
    /// The selection by the request's fields; `nil` if the response answers no other request.
    let selection: VarySelection?
    /// The part of the representation that the body is, and the length of the complete one; `nil` if the body is complete.
    let part: (range: Range<Int64>, total: Int64)?
    /// Whether the body has a content coding.
    let isCoded: Bool
    /// The age at the reception, in milliseconds.
    private let initialAge: Int64

    convenience init(_ head: CachedHead, _ rules: Boxed<CachePolicy>) {
        self.init(head.stored, selection: head.selection, rules)
    }

    /// - Parameter selection: The selection by the request's fields; `nil` if the response answers no other request.
    init(_ stored: StoredHead, selection: VarySelection?, _ rules: Boxed<CachePolicy>) {
        let values = stored.values
        let date = stored.date(values)
        (self.head, self.rules, self.date) = (stored, rules, date)
        freshness = CacheFreshness(of: stored, values, date: date, under: rules.value)
        status = .registered(stored.status)
        hasValidator = stored.hasValidator(values)
        self.selection = selection
        part = stored.part
        isCoded = values.hasCodings && !CodedBody.codings(stored.deciding).isEmpty
        initialAge = stored.initialAge(date: date, values)
    }

    var policy: CachePolicy { rules.value }

    /// Returns whether the facts follow from some rules.
    func follow(from rules: Boxed<CachePolicy>) -> Bool { self.rules === rules || self.rules.value == rules.value }

    /// Returns the age in milliseconds (RFC 9111, section 4.2.3); `nil` if the clock is behind the reception by more than a few seconds, so
    /// that the age is not known.
    func age(at now: CacheTime) -> Int64? { head.age(at: now, initialAge: initialAge) }

    /// Returns the time for which the response stays fresh at an age, in milliseconds: it is fresh while its age is less than its lifetime.
    func rest(atAge milliseconds: Int64) -> Int64 { freshness.lifetime * 1000 - milliseconds }

    /// Returns the time in seconds for which the response stays fresh; negative if it is stale, zero if its age is not known.
    func timeToLive(at now: CacheTime) -> Int64 { age(at: now).map { Self.seconds(ofRest: rest(atAge: $0)) } ?? 0 }

    /// Returns milliseconds as seconds, such that a rest of a second is a second.
    static func seconds(ofRest rest: Int64) -> Int64 { rest > 0 ? (rest + 999) / 1000 : rest / 1000 }

    /// Returns whether a response with a body of some bytes may answer requests.
    func isUsable(length: Int64) -> Bool {
        guard selection != nil else { return false }
        guard head.status == 206 else { return true }
        return part.map { Int64($0.range.count) == length } ?? false
    }

    /// Returns whether the origin has made another response later.
    func isOlder(than other: CacheFacts) -> Bool {
        date == other.date ? head.responseTime < other.head.responseTime : date < other.date
    }
}
