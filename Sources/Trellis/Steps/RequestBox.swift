/// A request in one place. It is large, and functions that wait keep a copy of every value that they were given or handed on.
final class RequestBox: Sendable {
    let request: Request

    init(_ request: Request) { self.request = request }
}
