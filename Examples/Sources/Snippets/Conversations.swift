import Foundation
import Trellis

/// The code of the article about conversations.
func converse(over session: Session) async throws {
    try await session.withWebSocket("wss://example.com/chat") { socket in
        try await socket.send("hello")
        for try await message in socket.messages {
            switch message {
            case .text(let text): print(text)
            case .binary(let data): print("\(data.count) bytes")
            }
        }
    }
}

func converseOverHTTP2(with session: Session) async throws {
    let request = Request("wss://example.com/chat").withHTTPVersion(.http2)
    try await session.withWebSocket(request) { socket in try await socket.send("hello") }
}

func playQuiz(over session: Session, answer: (_ question: WebSocketMessage) -> String) async throws {
    let options = WebSocketOptions(totalTimeout: .seconds(30))
    try await session.withWebSocket("wss://example.com/quiz", options: options) { socket in
        try await socket.send("ready")
        while let question = try await socket.receive() { try await socket.send(answer(question)) }
    }
}

func followNews(with session: Session) async throws {
    for try await socket in session.reconnectingWebSockets("wss://example.com/news") {
        try await socket.send("subscribe")
        do {
            for try await message in socket.messages { print(message) }
        } catch let error as TrellisError {
            print(error)  // the loop continues with the next connection
        }
    }
}

func ask(over session: Session, question: (_ answer: String) -> String?) async throws {
    let (lines, source) = AsyncStream.makeStream(of: Data.self)
    source.yield(Data("first question\n".utf8))
    let request = Request("https://example.com/ask", method: .post, body: .stream(lines))
    try await session.withResponse(to: request) { response, body in
        for try await answer in body.lines {
            if let next = question(answer) { source.yield(Data("\(next)\n".utf8)) } else { source.finish() }
        }
    }
}
