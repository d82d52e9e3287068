public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// The requirements on every `Transport`, as a list of cases, each with a name.
///
/// A case defines the steps of the server, and checks the result that a session gets. A ``Host`` puts the two together for one
/// transport; there are hosts for ``MockTransport``, for ``ScriptedTransport`` and for libcurl, and for a transport of your own a
/// host is a few lines:
///
/// ```swift
/// @Test(arguments: TransportConformance.cases)
/// func conforms(_ testCase: TransportConformance.Case) async throws {
///     try await testCase.run(on: MyHost())
/// }
/// ```
public enum TransportConformance {
    /// A step of the server; the steps run in order, once a complete request has been received.
    public enum Step: Sendable {
        /// A head with a status of 1xx.
        case informational(Int, HTTPFields)
        /// The final head.
        case head(Int, HTTPFields)
        /// Bytes of the body.
        case body(Data)
        /// A wait until the test opens the gate.
        case wait(LoopbackServer.Gate)
        /// The end of the response, with fields after the body.
        case end(trailers: HTTPFields)
        /// A break of the connection.
        case breakOff
        /// A wait until the client goes away.
        case hold

        /// Returns a step that sends text as bytes of the body.
        public static func text(_ text: String) -> Step { .body(Data(text.utf8)) }
        /// The end of the response, without fields after the body.
        public static var end: Step { .end(trailers: [:]) }
    }

    /// A request as the server received it.
    public struct ServedRequest: Sendable {
        /// The method.
        public var method: String
        /// The path and query.
        public var target: String
        /// The fields in order, without those of the connection.
        public var fields: [(name: String, value: String)]
        /// The body.
        public var body: Data

        /// Creates a request.
        public init(method: String, target: String, fields: [(name: String, value: String)], body: Data) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }
    }

    /// A closure that returns the steps of the server for a request.
    public typealias Script = @Sendable (ServedRequest) -> [Step]

    /// A transport with a server behind it.
    public protocol Host: Sendable {
        /// Starts the server, and creates a session on the transport that reaches it.
        func start(_ script: @escaping Script) throws -> any RunningHost
    }

    /// A session on a transport, and the server that it reaches.
    public protocol RunningHost: Sendable {
        /// The session.
        var session: Session { get }
        /// Returns the URL of a path on the server.
        func url(_ path: String) -> String
        /// Waits until `count` exchanges, counted from the start, were given up by the client before their end.
        func waitUntilReleased(count: Int) async throws
    }

    /// A requirement on every transport.
    public struct Case: Sendable {
        /// The requirement in words.
        public let name: String
        let script: Script
        let check: @Sendable (any RunningHost) async throws -> Void

        /// Checks whether a transport meets the requirement.
        ///
        /// - Throws: ``Failure`` if the transport does something else, or the error of the session.
        public func run(on host: some Host) async throws {
            let running = try host.start(script)
            try await check(running)
            await running.session.shutdown()
        }
    }

    /// A requirement that a transport does not meet.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The expected and the actual result.
        public let description: String
    }

    /// All cases.
    public static var cases: [Case] { responseCases + requestCases + endCases + flowCases }

    /// Expects a value to equal another.
    static func expect<Value: Equatable>(_ what: String, _ value: Value, _ expected: Value) throws {
        guard value != expected else { return }
        throw Failure(description: "\(what): expected \(expected), got \(value)")
    }

    /// Expects an error of this kind.
    static func expect(_ kind: TrellisError.Kind, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as TrellisError where error.kind == kind {
            return
        } catch {
            throw Failure(description: "expected an error of kind \(kind), got \(error)")
        }
        throw Failure(description: "expected an error of kind \(kind), got none")
    }

    /// Expects `CancellationError` from a task.
    static func expectCancellation(_ task: Task<Void, any Error>) async throws {
        switch await task.result {
        case .failure(is CancellationError): return
        case .failure(let error): throw Failure(description: "expected CancellationError, got \(error)")
        case .success: throw Failure(description: "expected CancellationError, got a response")
        }
    }
}

extension TransportConformance.Case: CustomStringConvertible {
    /// The requirement in words.
    public var description: String { name }
}
