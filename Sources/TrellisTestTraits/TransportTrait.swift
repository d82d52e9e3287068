private import Synchronization
public import Testing
private import TrellisCore
public import TrellisTesting

/// A trait that gives every case of a test its own transport, which all requests of the case use, whichever session makes them. It also
/// adds faults, a server on a socket, a proxy, a clock and a session.
///
/// ```swift
/// @Test(.trellis(.router { $0.route(.get, "/users/7").respond(with: .json(#"{"name":"Ada"}"#)) }))
/// func aUserIsDecoded() async throws {
///     #expect(try await API.user(7).name == "Ada")
/// }
/// ```
///
/// The transport reaches as far as with `withTransport(_:_:)`. Cases of a parameterized test may run in parallel. The problems that a
/// transport finds, such as a request without a route, are issues of the test, at the line of the expectation or else at the trait. So are
/// errors of a server's handler, and planned faults that never begin. A problem whose error ends the test is reported once.
///
/// On a suite, the trait applies to each of its tests; a test's own transport or server replaces the suite's, whose unused routes are then
/// no issue. Several traits add up: `.trellis(.router { … }), .trellis(.faults([…]))` is `.trellis(.router { … }, .faults([…]))`.
public struct TransportTrait: TestTrait, SuiteTrait, TestScoping {
    private let provider: TransportProvider?
    private let layers: [TestLayer]
    private let sourceLocation: SourceLocation

    /// The trait of a suite applies to its tests, one by one.
    public var isRecursive: Bool { true }

    init(_ provider: TransportProvider?, _ layers: [TestLayer], at sourceLocation: SourceLocation) {
        self.provider = provider
        self.layers = layers
        self.sourceLocation = sourceLocation
    }

    /// Runs a case of a test with a transport and with parts of its own, and records the problems that these have found.
    ///
    /// - Throws: The error of the provider, of the layers, of the test, or of the transport's end.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let surroundings = try await TestSurroundings(provider, layers)
        if surroundings.replacesTransport { TraitScope.current?.replace() }
        let scope = TraitScope(within: surroundings.replacesTransport ? nil : TraitScope.current)
        do {
            try await TraitScope.$current.withValue(scope) {
                try await surroundings.run { try await function() }
            }
        } catch {
            record(Self.without(error, (try? await surroundings.finish(hasFailed: true)) ?? []))
            throw error
        }
        // The absence of requests to a transport that was replaced is no problem, as after an error.
        record(try await surroundings.finish(hasFailed: scope.isReplaced))
    }

    /// Returns the problems without the one that is the reason of an error. The error is an issue of the test when it is thrown out of the
    /// test, with the same words. Errors that the test has handled are not thrown, and their problems stay.
    private static func without(_ error: any Error, _ problems: [TestProblem]) -> [TestProblem] {
        guard case .other(let text) = (error as? TrellisError)?.reason else { return problems }
        var problems = problems
        if let told = problems.firstIndex(where: { $0.description == text }) { problems.remove(at: told) }
        return problems
    }

    private func record(_ problems: [TestProblem]) {
        for problem in problems {
            Issue.record(
                Comment(rawValue: problem.description),
                sourceLocation: problem.location.map(SourceLocation.init) ?? sourceLocation)
        }
    }
}

/// The scope of a trait, which a trait within it marks.
private final class TraitScope: Sendable {
    /// The scope of the innermost trait; `nil` if there is none.
    @TaskLocal static var current: TraitScope?

    /// The scope whose transport this one shares; `nil` if the scope has its own.
    private let outer: TraitScope?
    private let mark = Atomic(false)

    init(within outer: TraitScope?) { self.outer = outer }

    /// Whether a trait within the scope has replaced the transport.
    var isReplaced: Bool { mark.load(ordering: .relaxed) }

    /// Marks that a trait within the scope has replaced the transport.
    func replace() {
        mark.store(true, ordering: .relaxed)
        outer?.replace()
    }
}

extension SourceLocation {
    /// Creates the location of a place in the code.
    init(_ location: CodeLocation) {
        self.init(
            fileID: location.fileID, filePath: location.filePath, line: location.line, column: location.column)
    }
}

extension Trait where Self == TransportTrait {
    /// Returns a trait that gives every case of a test a separate transport: `.trellis(.router { … })`, `.trellis(.mock { … })`,
    /// `.trellis(.server { … })`, `.trellis(.application { … })`, `.trellis(.cassette("users"))` or `.trellis(.noNetwork)`.
    ///
    /// - Parameters:
    ///   - provider: The provider of the transports.
    ///   - layers: Further parts of the test, in any order, such as `.clock` and `.faults([…])`.
    ///   - sourceLocation: The place of the issues that have no other.
    public static func trellis(
        _ provider: TransportProvider, _ layers: TestLayer..., sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        TransportTrait(provider, layers, at: sourceLocation)
    }

    /// Returns a trait that gives every case of a test parts of its own: `.trellis(.https { … }, .proxy([…]))` a server on a socket with a
    /// proxy in front of it, `.trellis(.faults([…]))` faults around the transport of the traits before it, and `.trellis(.clock)` a clock.
    ///
    /// - Parameters:
    ///   - layer: A part of the test.
    ///   - layers: Further parts, in any order.
    ///   - sourceLocation: The place of the issues that have no other.
    public static func trellis(
        _ layer: TestLayer, _ layers: TestLayer..., sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        TransportTrait(nil, [layer] + layers, at: sourceLocation)
    }
}
