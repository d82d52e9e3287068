import Trellis

func readLines(_ url: String, session: Session) async throws {
    let log = try await session.stream(url, headers: [.accept: "text/plain"], timeouts: .endless).validate()
    for try await line in log.lines { print(line) }
}

func countBytes(_ url: String, session: Session) async throws -> Int {
    let response = try await session.stream(url).validate(statusCode: 200..<300)
    var count = 0
    for try await chunk in response.chunks { count += chunk.count }
    return count
}

struct Delta: Decodable, Sendable { var text: String }

func ask(_ chat: Request, session: Session) async throws {
    let limits = Timeouts(responseHead: .seconds(300), idle: .seconds(120))  // models think before they speak
    let answer = try await session.stream(chat, timeouts: limits).validate()
    for try await delta in answer.events(of: Delta.self) { print(delta.text, terminator: "") }
}

func follow(_ url: String, session: Session) async throws {
    while true {
        do {
            let log = try await session.stream(url, timeouts: Timeouts(idle: nil, total: nil)).validate()
            for try await line in log.lines { print(line) }
        } catch let error as TrellisError where error.isRetryable {
            print("lost:", error)
        }
        try await Task.sleep(for: .seconds(1))  // after an end, too; throws in a cancelled task
    }
}

func printEvents(_ url: String, session: Session) async throws {
    var reconnection = ReconnectionPolicy()
    reconnection.initialDelay = .seconds(1)
    reconnection.maximumFailures = 10
    for try await event in session.eventSource(url, reconnecting: reconnection) {
        print(event.id, event.event, event.data)
    }
}

func followEvents(_ url: String, session: Session) async throws {
    var headers: HTTPFields = [:]
    while true {
        do {
            for try await event in session.eventSource(url, headers: headers) {
                headers["Last-Event-ID"] = event.id
                print(event.event, event.data)
            }
            return  // a 204: the server wants no more connections
        } catch let error as TrellisError where error.isRetryable {  // such as a 503
            print("refused:", error)
            try await Task.sleep(for: .seconds(5))
        }
    }
}

func streamAnswer(to request: Request, session: Session) async throws {
    var retry = RetryPolicy(retryLimit: 3)
    retry.waitsForFirstByte = true  // the stream is returned with its first byte, not with its head
    retry.retryableHTTPMethods.insert(.post)  // or addsIdempotencyKey, if the server knows the field
    let answer = try await session.stream(request.withInterceptor(retry)).validate()
    for try await event in answer.serverSentEvents { print(event.data) }
}
