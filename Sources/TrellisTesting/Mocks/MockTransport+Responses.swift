import CurlEngine
import TrellisCore

/// Responses in a fixed order, for a server whose state is the number of its requests.
extension MockTransport {
    /// Creates a transport that gives responses one after the other, whatever is requested, and repeats the last one:
    ///
    /// ```swift
    /// let transport = MockTransport(responses: [MockResponse(status: 503), .text("done")])
    /// ```
    ///
    /// A ``MockRouter`` has such lists for each of its routes, and reports those that were not given.
    ///
    /// - Parameter responses: The responses, at least one.
    public convenience init(responses: [MockResponse]) { self.init(MockTransport.inTurn(responses)) }

    /// Returns a handler that gives responses one after the other, and repeats the last one, for a part of a handler:
    ///
    /// ```swift
    /// let jobs = MockTransport.inTurn([MockResponse(status: 503), .text("done")])
    /// let transport = MockTransport { request in request.path == "/job" ? try await jobs(request) : .text("home") }
    /// ```
    ///
    /// - Parameter responses: The responses, at least one.
    public static func inTurn(_ responses: [MockResponse]) -> Handler {
        precondition(!responses.isEmpty, "a server needs a response")
        let next = Locked(0)
        return { _ in
            let index = next.withLock { next in
                defer { next += 1 }
                return min(next, responses.count - 1)
            }
            return responses[index]
        }
    }
}
