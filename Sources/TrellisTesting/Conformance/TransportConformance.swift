import CurlEngine
public import FoundationEssentials
public import HTTPTypes
public import TrellisCore

/// The requirements on every `Transport`, as a list of cases, each with a name.
///
/// A case defines the steps of the server, and checks the result that a session gets. A ``Host`` puts the two together for one
/// transport; there are hosts for ``MockTransport``, for ``ScriptedTransport`` and for the engines of a session, and for a transport
/// of your own a host is a few lines:
///
/// ```swift
/// @Test(arguments: TransportConformance.cases(for: MyHost()))
/// func conforms(_ testCase: TransportConformance.Case) async throws {
///     try await testCase.run(on: MyHost())
/// }
/// ```
///
/// Some cases need ``Features`` that not every host has, such as a connection that carries malformed bytes of a server.
public enum TransportConformance {
    /// A step of the server; the steps run in order.
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
        /// Bytes on the connection as they are, instead of a head or a body. After the last step, the server ends its side of the
        /// connection. Only in cases that need ``Features/wire``.
        case raw(Data)
        /// A wait until these bytes have arrived, as the next ones of the request's body. If others arrive, the connection breaks. Only
        /// in cases that need ``Features/twoWay``.
        case receive(Data)
        /// A wait until the request's body has ended; further bytes of the body break the connection. Only in cases that need
        /// ``Features/twoWay``.
        case receiveEnd

        /// Returns a step that sends text as bytes of the body.
        public static func text(_ text: String) -> Step { .body(Data(text.utf8)) }
        /// Returns a step that sends text, with CR LF instead of its line feeds, as it is.
        public static func raw(_ text: String) -> Step {
            .raw(Data(text.split(atByte: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n").utf8))
        }
        /// The end of the response, without fields after the body.
        public static var end: Step { .end(trailers: [:]) }
    }

    /// A request as the server received it.
    public struct ServedRequest: Sendable {
        /// The method.
        public var method: String
        /// The path and query.
        public var target: String
        /// The fields in order, without the connection's.
        public var fields: [(name: String, value: String)]
        /// The body; empty if only the head was received (``Scenario/beginsAtHead``).
        public var body: Data
        /// The fields after the body.
        public var trailers: [(name: String, value: String)]

        /// Creates a request.
        public init(
            method: String, target: String, fields: [(name: String, value: String)], body: Data,
            trailers: [(name: String, value: String)] = []
        ) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
            self.trailers = trailers
        }

        /// The value of the first field with a name, in any case, if any.
        public subscript(name: String) -> String? {
            fields.first { $0.name.hasSameToken(as: name) }?.value
        }
    }

    /// A closure that returns the steps of the server for a request.
    public typealias Script = @Sendable (ServedRequest) -> [Step]

    /// The abilities of a host that only some cases need.
    public struct Features: OptionSet, Sendable, Hashable {
        /// The bits of the features.
        public let rawValue: Int

        /// Creates features from their bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The server writes to a connection whose bytes the transport parses: it can send malformed heads, lengths that are not true,
        /// and bodies with content codings. Without a wire, a transport delivers heads as values, and bodies as decoded bytes.
        public static let wire = Features(rawValue: 1 << 0)
        /// The server can respond while the body of the request is still being sent.
        public static let twoWay = Features(rawValue: 1 << 1)
        /// The transport sends the fields after a request's body (``/Trellis/Request/trailers``), and the server receives them.
        public static let requestTrailers = Features(rawValue: 1 << 2)
    }

    /// The server and the session that a case needs.
    public struct Scenario: Sendable {
        /// The settings of the session. A host may add settings for its transport.
        public var configuration: SessionConfiguration
        /// Whether the steps run as soon as the head of a request was received, as in cases that need ``Features/twoWay``.
        /// Otherwise, they run when the complete request was received.
        public var beginsAtHead: Bool
        /// The steps of the server.
        public var script: Script

        /// Creates a scenario; by default, with a session without special settings, and steps that wait for the complete request.
        public init(
            configuration: SessionConfiguration = SessionConfiguration(), beginsAtHead: Bool = false,
            script: @escaping Script
        ) {
            self.configuration = configuration
            self.beginsAtHead = beginsAtHead
            self.script = script
        }
    }

    /// A transport and the server that it reaches.
    public protocol Host: Sendable {
        /// The features of the host; the default is none. ``TransportConformance/cases(for:)`` leaves out the cases that need others.
        var features: Features { get }
        /// Starts the server, and creates a session on the transport that reaches it.
        ///
        /// - Throws: Any error, which ends the case.
        func start(_ scenario: Scenario) throws -> any RunningHost
    }

    /// A session on a transport, and the server that it reaches.
    public protocol RunningHost: Sendable {
        /// The session.
        var session: Session { get }
        /// Returns the URL of a path on the server.
        func url(_ path: String) -> String
        /// Waits until `count` exchanges, counted from the start, were given up by the client before their end.
        ///
        /// - Throws: `CancellationError` if the task is cancelled first.
        func waitUntilReleased(count: Int) async throws
    }

    /// All cases.
    public static var cases: [Case] {
        responseCases + requestCases + endCases + flowCases + sessionCases + codingCases + wireCases + twoWayCases
    }

    /// Returns the cases for a host: all except those that need features that the host does not have.
    public static func cases(for host: some Host) -> [Case] {
        cases.filter { host.features.isSuperset(of: $0.features) }
    }
}

extension TransportConformance.Host {
    /// The default, no features.
    public var features: TransportConformance.Features { [] }
}
