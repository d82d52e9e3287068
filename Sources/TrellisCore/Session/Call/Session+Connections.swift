import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The response to a request that asks the server to switch protocols (RFC 9110, section 7.8).
package struct ProtocolSwitch: Sendable {
    /// The response: of status 101 if the server has switched protocols.
    package let response: Response
    /// The request that was answered, as it was sent: the last one after redirects and retries; `nil` after a response that refuses.
    package let request: Request?
    /// The connection after a response of status 101; `nil` if the server has refused. The connection stays open until it is closed or
    /// released, and its place among the connections to its origin is taken until then.
    package let connection: (any DuplexConnection)?
    /// The body of a response that refuses, up to 64 KiB.
    package let body: Data
    /// Whether the body has more bytes, or has failed.
    package var isBodyCut = false
}

extension Session {
    /// The number of bytes of a refusing response that are read.
    private static let refusedBodyLimit = 64 << 10
    /// The time in which these bytes have to arrive: a body without a length may never end.
    private static let refusedBodyTimeout = Duration.seconds(1)

    /// Sends a request that asks the server to switch protocols, on an HTTP/1.1 connection of its own, with all steps of the session and of
    /// the request: adapters, authentication, redirects, retries, cookies, proxies, limits. The cache and alternative services are not
    /// used.
    ///
    /// The limits of time apply to the handshake; they end with a response of status 101, and a limit in total is the default one unless
    /// the request has its own.
    ///
    /// - Parameters:
    ///   - request: The request, without a body. The scheme `ws` stands for `http`, and `wss` for `https` (RFC 6455, section 3). Its fields
    ///     `Upgrade` and `Connection` are replaced.
    ///   - name: The name of the protocol for the field `Upgrade`.
    /// - Throws: ``TrellisError``; `CancellationError` in a cancelled task.
    package func switchProtocols(to name: String, _ request: Request) async throws -> ProtocolSwitch {
        let start = clock.now()
        let answer = try await makeRequest(try Self.asking(request, for: name), .connection, start: start).run()
        if case .source(let token) = answer.content, let source = token.source.transfer as? StreamSource,
            let connection = source.connection
        {
            let request = answer.sent.sentRequest
            return ProtocolSwitch(
                response: answer.response, request: request,
                connection: SessionConnection(connection, token, of: request), body: Data())
        }
        let (body, isCut) = try await self.start(of: answer)
        return ProtocolSwitch(
            response: answer.response, request: nil, connection: nil, body: body, isBodyCut: isCut)
    }

    /// Returns the request with the fields that ask for a protocol.
    private static func asking(_ request: Request, for name: String) throws -> Request {
        guard request.body == nil else {
            throw TrellisError(.invalidRequest(.body("a request to switch protocols has none")), method: request.method)
        }
        var request = request
        request.url = request.url.withHTTPScheme
        request.httpVersion = .http1Only
        request.headers[.upgrade] = name
        request.headers[.connection] = "Upgrade"
        return request
    }

    /// Returns the first bytes of a body, and whether there may be more. A body that fails, or does not end in time, has the bytes until
    /// then: its head says more.
    private func start(of answer: StepResponse) async throws -> (body: Data, isCut: Bool) {
        let body = Locked(Data())
        let isWhole = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    for try await chunk in answer.body {
                        let isFull = body.withLock { body in
                            body.append(chunk.prefix(Self.refusedBodyLimit - body.count))
                            return body.count == Self.refusedBodyLimit
                        }
                        if isFull { return false }
                    }
                    return true
                } catch {
                    return false
                }
            }
            group.addTask { [timekeeper] in
                _ = try? await timekeeper.delay(for: Self.refusedBodyTimeout)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        try Task.checkCancellation()
        return (body.withLock { $0 }, !isWhole)
    }
}

extension Request {
    /// The request as it is sent on one connection: with a key that is chosen for this connection, if its protocol has one (RFC 6455,
    /// section 4.1: the key must be selected randomly for each connection).
    var withKeyOfConnection: Request {
        guard headers.contains(.secWebSocketKey) else { return self }
        var random = SecureRandom()
        return withHeader(.secWebSocketKey, Data(random.bytes(16)).base64EncodedString())
    }
}
