import CurlEngine
import FoundationEssentials

/// A network step that passes the bodies of responses to a recorder or a log while their readers receive them.
package struct BodyCapturingStep: ResponseForwardingStep {
    /// Handles the body that was received; `nil` if there is none.
    package typealias End = @Sendable (CapturedBody?) -> Void

    /// The number of bytes of a body that are kept.
    private let limit: Int
    /// Begins to capture the body of a response.
    private let begin: @Sendable (CallContext) -> End

    package init(limit: Int, begin: @escaping @Sendable (CallContext) -> End) {
        self.limit = limit
        self.begin = begin
    }

    package func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        let capture = BodyCapture(limit: limit, begin(context))
        do {
            let answer = try await next(request)
            // The body of a stored response was on no wire, and a connection has no body.
            if answer.response.cacheStatus?.isHit == true || context.call.delivery == .connection {
                capture.end(nil)
                return answer
            }
            let body = CapturedBody(answer.response)
            switch answer.content {
            case .data(let data):
                capture.end(body, with: data)
                return answer
            case .source(let token):
                let source = CapturedBodySource(token, body: body, capture: capture)
                return answer.replacing(answer.response, .source(TransferToken(source)))
            }
        } catch {
            capture.end(nil)
            throw error
        }
    }
}

/// The capture of a response's body, which ends once.
private final class BodyCapture: Sendable {
    let limit: Int
    private let finish: BodyCapturingStep.End
    private let hasEnded = Locked(false)

    init(limit: Int, _ finish: @escaping BodyCapturingStep.End) {
        self.limit = limit
        self.finish = finish
    }

    deinit { end(nil) }

    /// Ends the capture, if it has not ended.
    ///
    /// - Parameters:
    ///   - body: The body that was received; `nil` if there is none.
    ///   - rest: The bytes that the body does not have yet.
    func end(_ body: CapturedBody?, with rest: Data? = nil) {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        var body = body
        if let rest { body?.append(rest, limit: limit) }
        finish(body)
    }
}

/// The body of a response that is received by its reader and, up to a limit, captured.
private final class CapturedBodySource: WrappingSource {
    let token: TransferToken
    private let body: Locked<CapturedBody>
    private let capture: BodyCapture

    init(_ token: TransferToken, body: CapturedBody, capture: BodyCapture) {
        self.token = token
        self.body = Locked(body)
        self.capture = capture
    }

    func next() async throws -> Data? {
        do {
            guard let chunk = try await token.source.next() else {
                end()
                return nil
            }
            body.withLock { $0.append(chunk, limit: capture.limit) }
            return chunk
        } catch {
            end()
            throw error
        }
    }

    func finalResponse() async throws -> Response {
        while try await next() != nil {}
        return try await token.source.finalResponse()
    }

    func cancel(explicitly: Bool) {
        end()
        token.source.cancel(explicitly: explicitly)
    }

    private func end() { capture.end(body.withLock { $0 }) }
}

extension [any EventMonitor] {
    /// The number of bytes of each body that the logs among the monitors write; 0 if none of them writes bodies.
    private var bodyLimit: Int {
        reduce(0) { limit, monitor in
            switch monitor {
            case let log as RequestLog: Swift.max(limit, log.bodyLimit)
            case let all as CompositeEventMonitor: Swift.max(limit, all.monitors.bodyLimit)
            default: limit
            }
        }
    }

    /// The step that sends the events of bodies, if a log among the monitors writes them.
    var bodyStep: BodyCapturingStep? {
        guard bodyLimit > 0 else { return nil }
        return BodyCapturingStep(limit: bodyLimit) { context in
            { body in
                guard let body else { return }
                context.call.observer?.tell(
                    .bodyReceived(body.bytes, size: body.size, type: body.type), attempt: context.attempt)
            }
        }
    }
}
