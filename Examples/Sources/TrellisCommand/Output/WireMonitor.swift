import TerminalKit
import Trellis

/// The monitor of what goes over the wire, for `--verbose` and `--dump-header`: heads in curl's form, and what happens between them.
actor WireMonitor: EventMonitor {
    private let isVerbose: Bool
    private let showsSecrets: Bool
    private let leavesOutAccept: Bool
    private let keepsHeads: Bool
    private let terminal = Terminal.error
    /// The heads of all responses, for `--dump-header` and `--include`.
    private(set) var heads: [String] = []
    private var bodySizes: [UInt64: Int64] = [:]
    /// The request of each call that has not been sent yet.
    private var requests: [UInt64: Request] = [:]
    /// The time from each call to its last request on the wire.
    private var starts: [UInt64: Duration] = [:]
    private var ended: Set<UInt64> = []
    private var waiters: [UInt64: [CheckedContinuation<Void, Never>]] = [:]

    /// - Parameter keepsHeads: Indicates whether ``heads`` are asked for. A stream of events may bring them for months.
    init(isVerbose: Bool, showsSecrets: Bool, leavesOutAccept: Bool, keepsHeads: Bool) {
        self.keepsHeads = keepsHeads
        self.isVerbose = isVerbose
        self.leavesOutAccept = leavesOutAccept
        self.showsSecrets = showsSecrets
    }

    /// Returns the heads since the last time.
    func takeHeads() -> String {
        defer { heads = [] }
        return heads.joined()
    }

    /// Returns the number of bytes of the last body that a call has sent; `nil` if it has sent none.
    func bodySize(of callID: UInt64) -> Int64? { bodySizes[callID] }

    /// Returns the time from a call to its last request on the wire.
    func start(of callID: UInt64) -> Duration { starts[callID] ?? .zero }

    /// Waits until everything up to the result of a call was shown, so that it is above the body.
    func settle(_ callID: UInt64) async {
        guard callID > 0, !ended.contains(callID) else { return }
        await withCheckedContinuation { waiters[callID, default: []].append($0) }
    }

    func handle(_ event: RequestEvent) {
        switch event.kind {
        case .queued(let request):
            requests[event.callID] = request
            starts[event.callID] = event.elapsed
        case .lookingUp(let host): remark("Looking up \(host)")
        case .connecting(let address): remark("Connecting to \(address)")
        case .handshaking(let host): remark("TLS handshake with \(host)")
        case .proxySelected(let decision):
            if decision.proxies.contains(where: { $0 != .direct }) { remark("Proxy: \(decision)") }
        case .connected(let connection): begin(event, on: connection)
        case .requestSent(let size):
            bodySizes[event.callID] = Int64(size)
            if size > 0 { remark("Sent a body of \(size.inBytes)") }
        case .informational(let head), .head(let head): show(head)
        case .upgraded(let request): remark("The host asks for https: \(shown(request.url))")
        case .redirected(let redirect): remark("Redirected to \(shown(redirect.to))")
        case .retrying(let delay, let error):
            remark(
                "Attempt \(event.attempt) has failed\(error.map { ": \($0)" } ?? ""); the next one in \(delay.forPeople)"
            )
        case .cacheUsed(let status): remark("Cache: \(status)")
        case .exchangeEnded(let metrics, _): end(metrics, since: starts[event.callID] ?? .zero)
        case .finished, .failed:
            ended.insert(event.callID)
            for waiter in waiters.removeValue(forKey: event.callID) ?? [] { waiter.resume() }
        case .eventsDropped(let count): remark("\(count) events were lost")
        default: break
        }
    }

    /// Shows the request that is being sent.
    private func begin(_ event: RequestEvent, on connection: ConnectionInfo) {
        var words = "\(connection)"
        if let proxy = connection.proxyURL { words += " through \(proxy)" }
        if connection.isSecure, !connection.isReused { words += ", TLS in \(connection.tls.forPeople)" }
        remark(words)
        guard isVerbose, let request = requests[event.callID] else { return }
        let parts = Self.parts(of: shown(request.url))
        line(">", "\(request.method.rawValue) \(parts.target) HTTP/\((connection.version ?? .http1_1).rawValue)", .cyan)
        if request.headers[.init("Host") ?? .accept] == nil { line(">", "Host: \(parts.authority)", .cyan) }
        // The session and its engine add these two lines.
        if request.headers[.accept] == nil, !leavesOutAccept { line(">", "Accept: */*", .cyan) }
        if request.headers[.acceptEncoding] == nil, request.decodesContent != false {
            line(">", "Accept-Encoding: \(TrellisRuntime.contentCodings.joined(separator: ", "))", .cyan)
        }
        for field in request.headers { line(">", "\(field.name.rawName): \(shown(field))", .cyan) }
        line(">", "", .cyan)
    }

    private func show(_ head: ResponseHead) {
        let status = "HTTP/\(head.version.rawValue) \(head.status)"
        let lines = [status] + head.headers.map { "\($0.name.rawName): \($0.value)" }
        if keepsHeads { heads.append(lines.map { "\($0)\r\n" }.joined() + "\r\n") }
        guard isVerbose else { return }
        line("<", status, .green)
        for field in head.headers { line("<", "\(field.name.rawName): \(shown(field))", .green) }
        line("<", "", .green)
    }

    private func end(_ metrics: Metrics, since start: Duration) {
        if let version = metrics.serverTrust?.tlsVersion {
            let suite = metrics.serverTrust?.cipherSuite.map { " with \($0)" } ?? ""
            remark("TLS \(version.rawValue)\(suite)")
        }
        if let certificate = metrics.serverTrust?.chain.first ?? metrics.serverTrust?.sentChain.first {
            let end = certificate.notAfter.formatted(.iso8601)
            remark("Certificate: \(certificate.subject), issued by \(certificate.issuer), valid until \(end)")
        }
        remark("After \(Waterfall(metrics, since: start).line)")
    }

    private func remark(_ text: String) { if isVerbose { line("*", text, .faint) } }

    private func line(_ mark: String, _ text: String, _ style: Style) {
        terminal.print(terminal.styled("\(mark) \(TerminalText.shown(text))", style))
    }

    /// The value of a field, without its secret unless `--show-secrets` is given.
    private func shown(_ field: HTTPField) -> String {
        showsSecrets ? field.value : ShownRequest.value(of: field)
    }

    /// The URL, without its secrets unless `--show-secrets` is given.
    private func shown(_ url: String) -> String { showsSecrets ? url : ShownRequest.url(url) }

    /// Returns the authority and the target of a URL.
    private static func parts(of url: String) -> (authority: String, target: String) {
        let whole = url[...].before("#")
        let rest = whole[...].cut(at: ":").map { $0.after.drop { $0 == "/" } } ?? whole
        let authority = rest.before("/?")
        let target = rest.utf8.dropFirst(authority.utf8.count)
        let text = String(Substring(target))
        let host = authority.cut(at: "@")?.after ?? authority
        return (String(host), text.isEmpty ? "/" : text.utf8.first == UInt8(ascii: "?") ? "/\(text)" : text)
    }
}
