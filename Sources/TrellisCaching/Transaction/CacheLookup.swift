import CurlEngine
import HTTPTypes
import TrellisCore

/// A request as a cache sees it.
final class CacheLookup: Sendable {
    let request: Request
    /// The URL without its fragment.
    let url: WireURL
    /// The fields as they are to be sent.
    let fields: CacheRequestFields
    /// Whether content codings are removed from the body for the caller.
    let decodes: Bool
    /// The name of the stored responses to the URL; `nil` if the request's credentials cannot be told from others.
    let key: CacheKey?
    /// The rules of the cache.
    private let rules: Boxed<CachePolicy>
    /// The secrets of the request, which separate the responses to it in the cache of one user, each as a text.
    private let secrets: [String]
    private let preparation: RequestPreparation
    private let hasLeft: Bool

    /// - Parameters:
    ///   - request: The request as it is sent, with the cookies of the session.
    ///   - asked: The request without them.
    ///   - hasLeft: Whether a redirect has led to an origin that the session's secrets are not meant for.
    init(
        _ request: Request, asked: Request, in cache: HTTPCache, _ preparation: RequestPreparation, hasLeft: Bool
    ) throws(TrellisError) {
        let url = try preparation.url(of: request)
        let fields = try preparation.cacheFields(of: request, url, hasLeft: hasLeft)
        let secrets = cache.policy.isShared ? [] : Self.secrets(of: fields, request, asked: asked)
        let partition = Self.partition(of: request, to: url, with: fields, secrets: secrets, over: preparation.routes)
        key = partition.map { CacheKey(url: url.canonicalText, partition: $0) }
        self.secrets = secrets
        decodes = request.decodesContent ?? preparation.configuration.decodesContent
        self.request = request
        self.url = url
        self.fields = fields
        rules = cache.rules
        self.preparation = preparation
        self.hasLeft = hasLeft
    }

    /// Returns the secret fields of a request, each as a text with its name. The cookies of a jar are not among them: they
    /// change with each login and visit, and a jar, as a browser's, is one user's.
    private static func secrets(of fields: CacheRequestFields, _ request: Request, asked: Request) -> [String] {
        guard !fields.presence.isDisjoint(with: .secrets) else { return [] }
        var secrets: [HTTPField] = []
        if fields.presence.contains(.secret) {
            secrets = fields.headers.filter { $0.name != .cookie && SecretFields.isSecret($0) }
        }
        if fields.presence.contains(.cookie) {
            // Cookies of the jar take the place of a default field.
            let areJars = request.headers.contains(.cookie) && !asked.headers.contains(.cookie)
            let own = asked.headers.contains(.cookie) ? asked.headers : fields.headers
            if !areJars { secrets += own[fields: .cookie] }
        }
        return secrets.map { "\($0.name.canonicalName) \(stableValue($0))" }.sorted()
    }

    /// Returns the partition of a request: empty, or a digest of secrets, of its destination and of a host of its own; `nil` if there is
    /// no digest.
    private static func partition(
        of request: Request, to url: WireURL, with fields: CacheRequestFields, secrets: [String],
        over routes: RouteTable
    ) -> String? {
        let destination = routes.destination(of: request, url)
        let host = fields.presence.contains(.host) ? ownHost(in: fields.headers, url) : nil
        guard !secrets.isEmpty || destination != nil || host != nil else { return "" }
        var parts = secrets + ["", destination ?? ""]
        if let host { parts.append(host) }
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        return MessageDigest.hash(text, .sha256).map { String($0.prefix(32)) }
    }

    /// Returns the value of a secret field, as a text that is the same for all requests with the secret.
    ///
    /// The answer to a Digest challenge differs for each request (RFC 7616, section 3.4): its user and its realm count.
    private static func stableValue(_ field: HTTPField) -> String {
        let whole = "\(field.value) \(field.octetsBeyondUTF8 ?? [])"
        guard field.name == .authorization, field.octetsBeyondUTF8 == nil,
            field.value.prefix(7).lowercasedASCII().hasSameBytes(as: "digest ")
        else {
            return whole
        }
        let answers = AuthenticationChallenge.parse(field.value)
        guard answers.count == 1, let parameters = answers.first?.parameters, let realm = parameters["realm"] else {
            return whole
        }
        let names = ["username", "username*"].filter { parameters[$0] != nil }
        guard names.count == 1, let name = names.first, let user = parameters[name] else { return whole }
        // No other text ends in this way.
        return "\([name, user, realm, parameters["userhash"] ?? ""]) Digest"
    }

    /// Returns the `Host` of a request's own, as a text; `nil` if there is none, or if it is the authority of the URL. With another one,
    /// the request is one for another URL (RFC 9110, section 7.1).
    private static func ownHost(in headers: HTTPFields, _ url: WireURL) -> String? {
        var hosts: [String] = []
        var isOwn = false
        for field in headers where field.name.canonicalName == "host" {
            let authority = canonicalAuthority(field.value, isSecure: url.isSecure)
            let isOfURL = "\(url.scheme)://\(authority)".hasSameBytes(as: url.origin)
            if !isOfURL || field.octetsBeyondUTF8 != nil { isOwn = true }
            hosts.append("\(authority) \(field.octetsBeyondUTF8 ?? [])")
        }
        return isOwn ? "\(hosts)" : nil
    }

    /// Returns a host and port in lower case, without a port that is empty or the default one (RFC 9110, section 4.2.3).
    private static func canonicalAuthority(_ text: String, isSecure: Bool) -> String {
        let authority = String(Substring(text[...].utf8.trimmingBlanks)).lowercasedASCII()
        for port in [":", isSecure ? ":443" : ":80"] where authority.hasByteSuffix(port) {
            return String(Substring(authority.utf8.dropLast(port.utf8.count)))
        }
        return authority
    }

    /// Returns the partitions in which the response to an unsafe request invalidates: the partition of the request, and the ones of
    /// requests without secrets, with one of its secrets, and with all of them but one. A change often needs one secret more than what it
    /// changes, such as a token against forgery.
    ///
    /// The partition of other secrets is the cache of another user. An invalidation reaches the caches that the request travels
    /// through, and no others (RFC 9111, section 4.4).
    func invalidPartitions(_ key: CacheKey, _ routes: RouteTable) -> Set<String> {
        guard !secrets.isEmpty else { return [key.partition] }
        var selections: [[String]] = [[]]
        for index in secrets.indices {
            selections.append([secrets[index]])
            selections.append(Array(secrets[..<index] + secrets[(index + 1)...]))
        }
        return Set(
            selections.compactMap { Self.partition(of: request, to: url, with: fields, secrets: $0, over: routes) }
                + [key.partition])
    }

    var policy: CachePolicy { rules.value }

    // MARK: The decision

    private var asked: CacheDecision.Request {
        CacheDecision.Request(method: request.method, fields: fields, mode: request.cacheMode)
    }

    /// Whether only a stored response may be the response (RFC 9111, section 5.2.1.7).
    var mustNotBeSent: Bool { asked.mustNotBeSent }

    /// Whether a stored response may be the response.
    var mayBeAnswered: Bool {
        guard request.method == .get || request.method == .head else { return false }
        return request.cacheMode != .noStore && request.cacheMode != .reload
    }

    /// Whether the response to an equal request is as good as one of its own.
    var isLikeOthers: Bool {
        request.method == .get && (request.cacheMode == .default || request.cacheMode == .forceCache)
            && policy.maximumCoalescedWait > .zero && fields.directives.isEmpty && !fields.isConditional
            && (!fields.presence.contains(.range) || RequestedRange(fields.headers) != nil)
    }

    /// Returns the name of the requests to the URL that are equal: the selection of the latest stored response's variant, with the range
    /// that the request asks for, and its priority. `nil` if nothing is stored, and the request asks for no range and has no priority.
    func nameOfEquals(among entries: [CacheEntry]) -> String? {
        let variant = latest(of: entries).flatMap {
            VarySelection(of: $0.head.stored.deciding, request: fields.headers)?.text
        }
        guard fields.presence.contains(.range) || request.priority != .normal else { return variant }
        // No selection begins with a NUL, and the length says where its text ends. An urgent request does not wait for the place of another
        // one in a queue.
        let range = fields.headers.single(.range) ?? ""
        return "\0\(request.priority.rawValue)\(variant?.utf8.count ?? -1):\(variant ?? "")\(range)"
    }

    /// Returns the decision about the request.
    ///
    /// - Parameter entries: The stored responses that are usable (``usable(_:)``).
    func decision(about entries: [CacheEntry], at now: CacheTime) -> CacheDecision {
        // The decision of nearly all requests whose URL is not known, without the parts that it is made of.
        if entries.isEmpty, request.method == .get, request.cacheMode == .default,
            !fields.directives.contains(.onlyIfCached)
        {
            return .forward(.uriMiss, validating: nil)
        }
        let decision = CacheDecision.decision(for: asked, entries.lazy.map { self.candidate($0) }, at: now)
        switch decision {
        // The bytes of a part are no beginning of a body that could be decoded.
        case .use(let use) where use.range != nil && isDecoded(entries[use.index]):
            return mustNotBeSent ? .unsatisfiable : .forward(.request, validating: nil)
        // A part that is validated has no such beginning either.
        case .forward(let reason, validating: let index?) where !hasNeededBytes(entries[index]):
            return .forward(reason, validating: nil)
        case .use, .forward, .unsatisfiable: return decision
        }
    }

    /// Returns the stored responses that may answer requests.
    func usable(_ entries: [CacheEntry]) -> [CacheEntry] {
        entries.isEmpty || entries.allSatisfy(isUsable) ? entries : entries.filter(isUsable)
    }

    private func isUsable(_ entry: CacheEntry) -> Bool { entry.facts(rules).isUsable(length: entry.body.length) }

    /// Returns the stored responses that the origin has selected for such a request.
    func matching(_ entries: [CacheEntry]) -> [CacheEntry] {
        entries.filter { $0.facts(rules).selection?.matches(fields.headers) ?? false }
    }

    /// Returns the stored response that the origin has made last; `nil` if there is none.
    func latest(of entries: [CacheEntry]) -> CacheEntry? {
        entries.max { $0.facts(rules).date < $1.facts(rules).date }
    }

    private func candidate(_ entry: CacheEntry) -> CacheDecision.Candidate {
        let facts = entry.facts(rules)
        return CacheDecision.Candidate(
            facts: facts, length: facts.part?.total ?? entry.body.length, part: facts.part?.range)
    }

    func isDecoded(_ entry: CacheEntry) -> Bool { decodes && entry.facts(rules).isCoded }

    /// Returns the use of a stored response whose age does not matter; `nil` if it has not all the bytes that the request asks for.
    func use(_ entry: CacheEntry, _ usability: CacheUsability) -> CacheDecision.Use? {
        guard hasNeededBytes(entry) else { return nil }
        return CacheDecision.Use(
            index: 0, age: usability.age, timeToLive: usability.timeToLive, range: range(of: candidate(entry), entry))
    }

    /// Returns the bytes of a stored response that the request asks for; `nil` for the complete response.
    private func range(of candidate: CacheDecision.Candidate, _ entry: CacheEntry) -> Range<Int64>? {
        isDecoded(entry) ? nil : candidate.range(for: asked)?.bytes(of: candidate.length)
    }

    /// Returns whether a stored response has all the bytes that the request asks for.
    private func hasNeededBytes(_ entry: CacheEntry) -> Bool {
        let candidate = candidate(entry)
        guard let part = candidate.part else { return true }
        let needed = range(of: candidate, entry) ?? 0..<candidate.length
        return part.clamped(to: needed) == needed
    }

    // MARK: The response

    /// Returns the head of the response, and the range of the stored bytes that are its body.
    func head(_ entry: CacheEntry, _ use: CacheDecision.Use) -> (ResponseHead, Range<Int64>) {
        let facts = entry.facts(rules)
        let length = entry.body.length
        let bytes = request.method == .head || use.isNotModified ? 0..<0 : 0..<length
        if use.isNotModified {
            let headers = facts.head.headers.filter { Self.isKeptWhenNotModified($0.name) }
            return (ResponseHead(status: .notModified, headers: headers, age: use.age), bytes)
        }
        guard let range = use.range else {
            guard let part = facts.part else {
                return (ResponseHead(status: facts.status, headers: facts.head.headers, age: use.age), bytes)
            }
            let headers = Self.complete(facts.head.headers, length: part.total)
            return (ResponseHead(status: .ok, headers: headers, age: use.age), bytes)
        }
        let start = facts.part?.range.lowerBound ?? 0
        var headers = facts.head.headers.filter { !ContentDigests.names.contains($0.name.canonicalName) }
        headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(facts.part?.total ?? length)"
        headers[.contentLength] = "\(range.count)"
        return (
            ResponseHead(status: .partialContent, headers: headers, age: use.age),
            bytes.isEmpty ? bytes : range.lowerBound - start..<range.upperBound - start
        )
    }

    /// Returns the fields of a part that is the complete representation, as a 200 has them (RFC 9110, section 15.3.7.3).
    private static func complete(_ headers: HTTPFields, length: Int64) -> HTTPFields {
        var headers = headers
        headers[.contentRange] = nil
        headers[.contentLength] = "\(length)"
        return headers
    }

    /// Returns whether a 304 has a field of the response that it stands for (RFC 9110, section 15.4.5).
    private static func isKeptWhenNotModified(_ name: HTTPField.Name) -> Bool {
        switch name {
        case .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .age: true
        default: false
        }
    }
}

extension CacheLookup: SentRequest {
    /// The request with the session's default fields, as it is sent if no stored response is the response.
    var sentRequest: Request { preparation.completed(request, url, hasLeft: hasLeft) }

    /// The parts of the request that a stored response keeps.
    var answered: AnsweredRequest { AnsweredRequest(request, defaultFields: preparation.defaultFields) }
}

extension RequestPreparation {
    /// Returns the fields with which a request would be sent, apart from those that describe its body's framing, as a cache reads them.
    ///
    /// - Parameter hasLeft: Whether a redirect has led to an origin that the session's secrets are not meant for.
    fileprivate func cacheFields(
        of request: Request, _ url: WireURL, hasLeft: Bool
    ) throws(TrellisError) -> CacheRequestFields {
        guard request.body == nil, hasDefaultFields(request, url, hasLeft: hasLeft) else {
            return CacheRequestFields(try fields(of: request, url, hasLeft: hasLeft))
        }
        if let known = readDefaultFields.load() as? Boxed<CacheRequestFields> { return known.value }
        let fields = CacheRequestFields(sentDefaultFields)
        _ = readDefaultFields.storeIfNil(Boxed(fields))
        return fields
    }
}
