import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The response to a request that asks the server to switch protocols (RFC 9110, section 7.8), or for a stream with another protocol
/// (RFC 8441).
package struct ProtocolSwitch: Sendable {
    /// The response: of status 101, or 2xx over HTTP/2, if the server has switched protocols.
    package let response: Response
    /// The request that was answered, as it was sent: the last one after redirects and retries; `nil` after a response that refuses.
    package let request: Request?
    /// The connection after such a response; `nil` if the server has refused. The connection stays open until it is closed or
    /// released, and its place among the connections to its origin is taken until then.
    package let connection: (any DuplexConnection)?
    /// The body of a response that refuses, up to 64 KiB.
    package let body: Data
    /// Whether the body has more bytes, or has failed.
    package var isBodyCut = false
}

extension ProtocolSwitch {
    /// The number of bytes of a refusing response that are read.
    private static let bodyLimit = 64 << 10
    /// The time in which these bytes have to arrive: a body without a length may never end.
    private static let bodyTimeout = Duration.seconds(1)

    /// Reads the answer to the request. Of a body that fails, or does not end in time, it has the bytes until then: the head says more.
    init(_ answer: StepResponse, timekeeper: EngineExecutor) async throws {
        response = answer.response
        if case .source(let token) = answer.content, let source = token.source.transfer as? StreamSource,
            let switched = source.connection
        {
            let sent = answer.sent.sentRequest
            (request, connection, body) = (sent, SessionConnection(switched, token, of: sent), Data())
            return
        }
        let received = Locked(Data())
        let isWhole = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    for try await chunk in answer.body {
                        let isFull = received.withLock { body in
                            body.append(chunk.prefix(Self.bodyLimit - body.count))
                            return body.count == Self.bodyLimit
                        }
                        if isFull { return false }
                    }
                    return true
                } catch {
                    return false
                }
            }
            group.addTask {
                _ = try? await timekeeper.delay(for: Self.bodyTimeout)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        try Task.checkCancellation()
        (request, connection, body, isBodyCut) = (nil, nil, received.withLock { $0 }, !isWhole)
    }
}

extension Request {
    /// Returns the request with the fields that ask for a protocol.
    func asking(for name: String) throws(TrellisError) -> Request {
        guard body == nil else {
            throw TrellisError(.invalidRequest(.body("a request to switch protocols has none")), method: method)
        }
        var request = self
        request.url = url.withHTTPScheme
        request.httpVersion = versionOfConnection
        request.headers[.upgrade] = name
        request.headers[.connection] = "Upgrade"
        return request
    }

    /// The request as it is sent on one connection: with a key that is chosen for this connection, if its protocol has one (RFC 6455,
    /// section 4.1: the key must be selected randomly for each connection).
    var withKeyOfConnection: Request {
        guard headers.contains(.secWebSocketKey) else { return self }
        var random = SecureRandom()
        return withHeader(.secWebSocketKey, Data(random.bytes(16)).base64EncodedString())
    }
}
