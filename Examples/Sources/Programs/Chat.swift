import Trellis

struct Question: Codable, Sendable { var text: String }
struct Delta: Decodable, Sendable { var text: String }

/// Asks a language model, and writes its answer as it comes. What fails before the first word is asked again, and nothing after it.
func ask(_ text: String, at url: String, in session: Session, write: (String) -> Void) async throws {
    var policy = RetryPolicy(retryLimit: 3)
    policy.waitsForFirstByte = true
    policy.retryableHTTPMethods.insert(.post)
    let request = try Request(url, method: .post, body: .json(Question(text: text)))
    let limits = Timeouts(responseHead: .seconds(300), idle: .seconds(60), total: nil)
    let answer = try await session.stream(request, timeouts: limits, interceptor: policy).validate()
    for try await delta in answer.events(of: Delta.self) { write(delta.text) }
}

/// Sends lines over a WebSocket, and writes what comes, until either side ends.
func talk(
    _ lines: some AsyncSequence<String, Never> & Sendable, with url: String, in session: Session,
    write: @escaping @Sendable (String) -> Void
) async throws {
    try await session.withWebSocket(url) { socket in
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for try await case .text(let text) in socket.messages { write(text) }
                return true
            }
            group.addTask {
                for await line in lines { try await socket.send(line) }
                if !Task.isCancelled { try await socket.close() }
                return false
            }
            while let hasEnded = try await group.next() { if hasEnded { group.cancelAll() } }
        }
    }
}
