package import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The defaults that a session adds to its requests, and the checks that every request has to pass. Runs in the caller's task.
package final class RequestPreparation: Sendable {
    /// The value of `Accept` that the engine adds to requests without one.
    private static let libcurlAccept = "*/*"

    /// The configuration of the session.
    package let configuration: SessionConfiguration
    /// The fields of a request without fields of its own, except for `Accept-Encoding`.
    package let defaultFields: HTTPFields
    /// An invalid name among the configuration's default fields; `nil` if all names are valid.
    let invalidDefaultName: String?
    /// Whether the configuration's default fields have credentials for a proxy, which no request may have.
    private let hasDefaultProxyCredentials: Bool
    /// The header lines of a request without fields of its own.
    let defaultLines: HeaderLines
    /// The default fields of a request without a body, as they are sent.
    package let sentDefaultFields: HTTPFields
    /// What a cache has read in them, if one has.
    package let readDefaultFields = LazyReference<any AnyObject & Sendable>()
    /// The time limits of a request without limits of its own, whose response is collected in memory.
    private let collectedLimits: TimeLimits
    /// The time limits of a stream or upload without limits of its own.
    private let openLimits: TimeLimits
    /// The names of fields whose lines depend on the default fields, on the body or on the coding of the response.
    private let dependentNames: [HTTPField.Name]
    /// The lengths of these names, one bit each, which most other names do not have.
    private let dependentLengths: UInt64
    let urls = WireURLCache()
    /// The routes of the session's requests.
    package let routes: RouteTable
    /// Whether the session's own transport makes connections.
    let ownMakesConnections: Bool
    /// The evaluations of servers; `nil` if the session has no ``ServerTrustManager``.
    private let trustEvaluations: ServerTrustTable?
    /// Whether an evaluator of servers may wait, which needs a call with a task.
    let mayWaitForTrust: Bool
    /// The rules of TLS of the session's requests.
    package let trust: TrustTable
    /// The preparation of the requests for proxy scripts; `nil` before the first one.
    let scripts = Locked<RequestPreparation?>(nil)
    /// The base URL and the default query items; `nil` if the configuration has neither.
    package let urlDefaults: URLDefaults?

    /// - Parameter makesConnections: Whether the session's own transport makes connections.
    init(_ configuration: SessionConfiguration, makesConnections: Bool = true) {
        self.configuration = configuration
        ownMakesConnections = makesConnections
        routes = RouteTable(
            proxies: configuration.proxy, route: configuration.route, resolver: configuration.resolver,
            makeProofs: ProxyProofs.proofs)
        trustEvaluations = configuration.serverTrustManager.map(ServerTrustTable.init)
        mayWaitForTrust = trustEvaluations?.mayWait ?? false
        trust = TrustTable(
            configuration.tls, forHosts: configuration.tlsForHosts, evaluators: configuration.serverTrustManager,
            system: configuration.systemAuthorities)
        collectedLimits = TimeLimits(configuration.timeouts)
        openLimits = TimeLimits(configuration.timeouts, hasDefaultTotal: false)
        urlDefaults = URLDefaults(baseURL: configuration.baseURL, queryItems: configuration.defaultQueryItems)
        var fields = configuration.defaultHeaders.withoutInvalidNames
        invalidDefaultName = configuration.defaultHeaders.invalidName
        if let userAgent = configuration.userAgent, fields[.userAgent] == nil { fields[.userAgent] = userAgent }
        if let language = configuration.acceptLanguage, fields[.acceptLanguage] == nil {
            fields[.acceptLanguage] = language
        }
        // The framing follows from the body.
        fields[.contentLength] = nil
        fields[.transferEncoding] = nil
        if let accept = configuration.accept, accept != Self.libcurlAccept, fields[.accept] == nil {
            fields[.accept] = accept
        }
        defaultFields = fields
        var sent = fields
        if configuration.decodesContent, !sent.contains(.acceptEncoding) { sent.append(.acceptEncoding) }
        sentDefaultFields = sent
        hasDefaultProxyCredentials = fields.contains(.proxyAuthorization)
        let accept = configuration.accept == nil ? [HTTPField.Name.accept] : []
        let dependentNames: [HTTPField.Name] =
            [.contentLength, .transferEncoding, .acceptEncoding, .expect, .proxyAuthorization] + accept
            + fields.map(\.name)
        self.dependentNames = dependentNames
        var lengths: UInt64 = 0
        for name in dependentNames { lengths |= RequestPreparation.lengthBit(of: name) }
        dependentLengths = lengths
        var lines = HeaderLines()
        for field in fields { _ = lines.append(field) }
        if configuration.decodesContent, !fields.contains(.acceptEncoding) { _ = lines.append(.acceptEncoding) }
        if configuration.accept == nil, !fields.contains(.accept) { lines.suppress("Accept") }
        defaultLines = lines
    }

    /// Completes and checks a request.
    ///
    /// - Parameters:
    ///   - delivery: The way in which the body is delivered; the session's limit on bodies applies to bodies in memory.
    ///   - start: The instant at which the call was made.
    ///   - history: The earlier attempts and hops of the call; `nil` for a request that is only looked at.
    ///   - sizes: The sizes of the body's files.
    package func prepare(
        _ request: Request, delivery: Delivery, start: EngineInstant,
        history: AttemptHistory? = nil, sizes: FileSizes? = nil, callID: UInt64 = 0
    ) throws -> PreparedRequest {
        // A type that converts requests of other types does not check each of them for a failed URL conversion.
        if let failure = request.conversionFailure { throw failure }
        do throws(TrellisError) {
            var request = request
            // A request with a history was completed when its call began: a redirect leads away from the session's defaults.
            if let urlDefaults, history == nil { request = try urlDefaults.completing(request) }
            let url = try self.url(of: request)
            try Self.check(request)
            let invalidName = request.headers.isEmpty ? nil : request.headers.invalidName
            if let name = invalidName ?? invalidDefaultName { throw .invalidFieldName(name) }
            // A form that is put into memory stays an upload.
            let timeLimits =
                history.map { limits(of: request, within: $0.limit) } ?? limits(of: request, delivery: delivery)
            try request.resolveBody(defaults: defaultFields, sizes: sizes)
            let pieces =
                request.extras == nil && configuration.bandwidth.isEmpty ? nil : PieceSizes(request, configuration)
            let expectContinueTimeout = request.bodyWait?.clampedNanoseconds
            let body = try PreparedBody(
                of: request, isStreamed: expectContinueTimeout != nil || pieces?.send != nil, sizes: sizes)
            var (headerLines, addsDefaultFields) = try lines(
                &request, url, hasBody: body.exists, hasLeft: history?.hasLeftOrigin ?? false,
                expectsContinue: expectContinueTimeout != nil)
            if timeLimits.deadlineField != nil {
                let hasLeft = history?.hasLeftOrigin ?? false
                if let field = timeLimits.sentField(hasLeft: hasLeft, switchesProtocols: delivery == .connection) {
                    headerLines = try lines(headerLines, of: request, without: field)
                }
            }
            let chosen = makesConnections ? try routes.route(to: url, of: request) : .direct
            let alternative = request.extras?.extras.alternative
            let route = alternative.map { routes.route(chosen.route, to: $0, of: url) } ?? chosen.route
            if let egress = configuration.egress, let refusal = egress.refusal(of: url, by: route, to: alternative) {
                history?.tell(.egressRefused(refusal))
                throw TrellisError(.egressRefused(refusal))
            }
            // The program may send the request of the response again, and then it goes to the origin.
            if alternative != nil { request = request.sent(to: nil) }
            if request.extras != nil { request = request.withoutEndpoint }
            let keepsCoding = request.keepsCoding
            if keepsCoding { request.keepsCoding = false }
            if request.isComplete { request.isComplete = false }
            let trustEvaluation = try trustEvaluations?.evaluation(for: url)
            let wire = TransferOptions(
                url: url, route: route,
                trust: trust.constant(mayUseTLS: url.isSecure || chosen.route !== TransferRoute.direct)
                    ?? trust.trust(for: tlsHost(of: url), proxyHost: chosen.route.secureProxyHost),
                method: request.method.rawValue, headerLines: headerLines, body: body.wire,
                version: try request.versions(
                    to: url, by: configuration.httpVersion, delivery: delivery, isAlternative: alternative != nil),
                mayBeReplayed: request.mayBeReplayed,
                decodesContent: !keepsCoding && request.decodesContent ?? configuration.decodesContent,
                receiveBufferSize: min(delivery.bufferSize, pieces?.receive ?? .max),
                receivePieceSize: pieces?.receive ?? .max, sendPieceSize: pieces?.send ?? .max,
                maximumHeaderBytes: configuration.maximumHeaderSize, connectLimit: timeLimits.connect,
                readsCertificates: url.isSecure && (trustEvaluation != nil || collectsServerTrust(of: request)),
                hasTrailers: body.streamed?.trailers != nil, switchesProtocols: delivery == .connection,
                rank: request.priority.rank, connectionCount: request.extras?.extras.connectionCount)
            return PreparedRequest(
                request: request, defaultFields: addsDefaultFields ? defaultFields : nil, wire: wire,
                streamedBody: body.streamed, limits: timeLimits,
                maximumBodySize: request.maximumBodySize
                    ?? (delivery == .stream ? .unlimited : configuration.maximumBodySize),
                start: start, expectContinueTimeout: expectContinueTimeout, history: history,
                callID: callID, proxyDecision: chosen.decision, trustEvaluation: trustEvaluation)
        } catch {
            throw error.naming(request)
        }
    }

    private func collectsServerTrust(of request: Request) -> Bool {
        request.extras?.extras.collectsServerTrust ?? configuration.collectsServerTrust
    }

    /// Returns the time limits that apply to a request.
    func limits(of request: Request, delivery: Delivery) -> TimeLimits {
        let hasDefaultTotal = delivery != .stream && !request.isUpload
        guard let timeouts = request.timeouts else { return hasDefaultTotal ? collectedLimits : openLimits }
        return TimeLimits(timeouts.completed(by: configuration.timeouts), hasDefaultTotal: hasDefaultTotal)
    }

    /// Returns the time limits that apply to a request of a call that has a limit in total.
    private func limits(of request: Request, within total: UInt64?) -> TimeLimits {
        // Most calls have the default limits, which share one instance.
        if let total, total == collectedLimits.total, request.timeouts == nil { return collectedLimits }
        return limits(of: request, delivery: .stream).within(total)
    }

    /// Returns the request with its URL resolved against the base URL, and with the default query items.
    package func completingURL(of request: Request) throws -> Request {
        guard let urlDefaults else { return request }
        if let failure = request.conversionFailure { throw failure }
        do throws(TrellisError) {
            return try urlDefaults.completing(request)
        } catch {
            throw error.naming(request)
        }
    }

    /// Returns the name of a request's queue before its call begins, if its URL is valid. A step may still change it.
    func queue(of request: Request) -> String? {
        guard let request = try? completingURL(of: request), let url = try? url(of: request),
            let version = try? (request.httpVersion ?? configuration.httpVersion).versions(to: url),
            let route = try? makesConnections ? routes.route(to: url, of: request, isForQueue: true).route : .direct
        else { return nil }
        let rules = trust.trust(for: possibleTLSHost(of: url), proxyHost: route.secureProxyHost)
        return version.queue(of: rules.pool(route.limitName(of: url.origin)), isSecure: url.isSecure)
    }

    // MARK: Checks

    static func check(_ request: Request) throws(TrellisError) {
        let method = request.method.rawValue
        guard method != "GET" else { return }
        // CONNECT makes a tunnel, which is not an exchange of a request and a response (RFC 9110, section 9.3.6).
        guard HTTPRequest.Method(method) != nil, method != "CONNECT" else {
            throw TrellisError(.invalidRequest(.method(method)))
        }
        if request.body != nil, method == "HEAD" || method == "TRACE" {
            throw TrellisError(.invalidRequest(.body("\(method) has none")))
        }
    }

    // MARK: Fields

    /// Returns the header lines of a request, to which it adds the default fields where one of these depends on the request.
    ///
    /// - Returns: `lines` is `nil` if the request has no field of its own, so that the default lines apply. `addsDefaultFields` indicates
    ///   whether the request is sent with all default fields after its own, which were not added to it.
    private func lines(
        _ request: inout Request, _ url: WireURL, hasBody: Bool, hasLeft: Bool, expectsContinue: Bool
    ) throws(TrellisError) -> (lines: HeaderLines?, addsDefaultFields: Bool) {
        let decodes = request.decodesContent ?? configuration.decodesContent
        if hasDefaultProxyCredentials { throw .proxyCredentials }
        let isComplete = request.isComplete
        if !isComplete, !hasBody, hasDefaultFields(request, url, hasLeft: hasLeft) { return (nil, true) }
        if !isComplete, !hasBody, !hasLeft, url.user == nil, !expectsContinue, decodes == configuration.decodesContent,
            let lines = try linesBeforeDefaults(request)
        {
            return (lines, true)
        }
        if !isComplete { try complete(&request, url, hasLeft: hasLeft) }
        // Without content there is nothing to expect (RFC 9110, section 10.1.1).
        if !expectsContinue, request.hasExpectation { request.headers[.expect] = nil }
        var lines = HeaderLines()
        if expectsContinue {
            request.headers[.expect] = "100-continue"
            // Over HTTP/3, libcurl takes the first line with the name for a setting, and would wait too. It sends the second line.
            lines.suppress("Expect")
        }
        for field in request.headers where field.name != .contentLength && field.name != .transferEncoding {
            // In a tunnel, or without a proxy, the server would get the field.
            if field.name == .proxyAuthorization { throw .proxyCredentials }
            guard lines.append(field) else { throw TrellisError(.invalidRequest(.headerField(field.name.rawName))) }
        }
        if decodes, !isComplete, !request.headers.contains(.acceptEncoding) { _ = lines.append(.acceptEncoding) }
        if configuration.accept == nil || isComplete, !request.headers.contains(.accept) { lines.suppress("Accept") }
        if hasBody {
            // Over HTTP/3, libcurl would add a content type, and wait for a response of status 100 that may never be received.
            if request.headers[.contentType] == nil { lines.suppress("Content-Type") }
            if request.headers[.expect] == nil { lines.suppress("Expect") }
        }
        return (lines, false)
    }

    /// Returns the lines of a request's own fields and the default lines; `nil` if one of the own fields changes other lines.
    private func linesBeforeDefaults(_ request: Request) throws(TrellisError) -> HeaderLines? {
        var lines = HeaderLines()
        for field in request.headers {
            let mayBeDependent = dependentLengths & Self.lengthBit(of: field.name) != 0
            if mayBeDependent, dependentNames.contains(field.name) { return nil }
            guard lines.append(field) else { throw TrellisError(.invalidRequest(.headerField(field.name.rawName))) }
        }
        lines.append(defaultLines)
        return lines
    }

    /// Returns header lines without a field that is added when the head is written.
    private func lines(
        _ lines: HeaderLines?, of request: Request, without field: DeadlineField
    ) throws(TrellisError) -> HeaderLines? {
        guard let name = HTTPField.Name(ofField: field.name) else { throw .invalidFieldName(field.name) }
        guard request.headers.contains(name) || defaultFields.contains(name) else { return lines }
        return (lines ?? defaultLines).withoutField(named: field.name)
    }

    private static func lengthBit(of name: HTTPField.Name) -> UInt64 { 1 &<< UInt64(name.canonicalName.utf8.count) }

    /// Adds the default fields, the content type and the URL's credentials to a request.
    ///
    /// - Parameter hasLeft: Whether a redirect has led to an origin that the session's secrets are not meant for.
    func complete(_ request: inout Request, _ url: WireURL, hasLeft: Bool) throws(TrellisError) {
        let policy = request.steps?.redirects ?? configuration.steps.redirects ?? RedirectPolicy()
        let type = request.body?.contentType
        let own = request.headers
        var fields = own
        // A default field may be repeated, as a field of the request.
        for field in defaultFields where !own.contains(field.name) {
            if hasLeft, policy.isBoundToOrigin(field) { continue }
            // The body's own type describes the body, with the boundary of a form.
            if type != nil, field.name == .contentType { continue }
            fields.append(field)
        }
        if let type, !fields.contains(.contentType) { fields[.contentType] = type }
        // User information in a URL stands for Basic authentication (RFC 7617, section 2).
        if let user = url.user, !fields.contains(.authorization) {
            try CredentialText.check(basicName: user)
            let credentials = Data("\(user):\(url.password ?? "")".utf8).base64EncodedString()
            fields[.authorization] = "Basic \(credentials)"
        }
        request.headers = fields
    }
}

extension TrellisError {
    func naming(_ request: Request) -> TrellisError {
        var error = self
        error.method = request.method
        error.url = URLRedaction.redact(request.url)
        return error
    }
}
