public import FoundationEssentials
public import HTTPTypes
public import Trellis

/// What every `Transport` must do, as a list of cases, each with a name.
///
/// A case says what the server does, and looks at what a session makes of it. ``Host`` puts the two together for one
/// transport; there are hosts for ``MockTransport``, for ``ScriptedTransport`` and for libcurl, and for a transport of your
/// own it is a few lines:
///
/// ```swift
/// @Test(arguments: TransportConformance.cases)
/// func conforms(_ testCase: TransportConformance.Case) async throws {
///     try await testCase.run(on: MyHost())
/// }
/// ```
public enum TransportConformance {
    /// What the server does, in order, once a request has come whole.
    public enum Step: Sendable {
        /// Sends a head with a status of 1xx.
        case informational(Int, HTTPFields)
        /// Sends the final head.
        case head(Int, HTTPFields)
        /// Sends bytes of the body.
        case body(Data)
        /// Waits for the test.
        case wait(LoopbackServer.Gate)
        /// Ends the response, with fields after the body.
        case end(trailers: HTTPFields)
        /// Breaks the connection off.
        case breakOff
        /// Does nothing until the client goes away.
        case hold

        /// Sends text as bytes of the body.
        public static func text(_ text: String) -> Step { .body(Data(text.utf8)) }
        /// Ends the response.
        public static var end: Step { .end(trailers: [:]) }
    }

    /// A request as the server saw it.
    public struct ServedRequest: Sendable {
        /// The method.
        public var method: String
        /// Path and query.
        public var target: String
        /// The fields in order, without those of the connection.
        public var fields: [(name: String, value: String)]
        /// The body.
        public var body: Data

        /// A request.
        public init(method: String, target: String, fields: [(name: String, value: String)], body: Data) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }
    }

    /// What the server does for a request.
    public typealias Script = @Sendable (ServedRequest) -> [Step]

    /// A transport with a server behind it.
    public protocol Host: Sendable {
        /// Starts the server, and makes a session on the transport that reaches it.
        func start(_ script: @escaping Script) throws -> any RunningHost
    }

    /// A session on a transport, and the server that it reaches.
    public protocol RunningHost: Sendable {
        /// The session.
        var session: Session { get }
        /// The URL of a path on the server.
        func url(_ path: String) -> String
        /// Returns when so many exchanges, counted from the start, were given up by the client before their end.
        func waitUntilReleased(count: Int) async throws
    }

    /// Something that every transport must do.
    public struct Case: Sendable {
        /// What it must do.
        public let name: String
        let script: Script
        let check: @Sendable (any RunningHost) async throws -> Void

        /// Checks it.
        ///
        /// - Throws: ``Failure`` where the transport does something else, or what the session threw.
        public func run(on host: some Host) async throws {
            let running = try host.start(script)
            try await check(running)
            await running.session.shutdown()
        }
    }

    /// What a transport does not do as it must.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was expected and what came.
        public let description: String
    }

    /// All cases.
    public static var cases: [Case] { responseCases + requestCases + endCases + flowCases }

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
        case .success: throw Failure(description: "expected CancellationError, got an answer")
        }
    }
}

extension TransportConformance.Case: CustomStringConvertible {
    /// What it must do.
    public var description: String { name }
}
