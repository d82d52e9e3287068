private import Synchronization
public import Testing
import Trellis
public import TrellisTesting

/// A trait that gives every case of a test a transport of its own, which all requests of the case use, in whichever session they are made.
///
/// ```swift
/// @Test(.trellis(.router { $0.route(.get, "/users/7").respond(with: .json(#"{"name":"Ada"}"#)) }))
/// func aUserIsDecoded() async throws {
///     #expect(try await API.user(7).name == "Ada")
/// }
/// ```
///
/// The reach of the transport is that of `withTransport(_:_:)`. Cases have different transports, also of a parameterized test, and may
/// run in parallel. The problems that the transport finds, such as a request without a route, are issues of the test: each is recorded at
/// the place in the code that expects something else, or at the trait if there is none.
///
/// On a suite, the trait applies to each of its tests; the trait of a test replaces the transport of its suite's. What is then not
/// requested of the replaced transport, such as its routes, is no issue.
public struct TransportTrait: TestTrait, SuiteTrait, TestScoping {
    private let provider: TransportProvider
    private let sourceLocation: SourceLocation

    /// The trait of a suite applies to its tests, one by one.
    public var isRecursive: Bool { true }

    init(_ provider: TransportProvider, at sourceLocation: SourceLocation) {
        self.provider = provider
        self.sourceLocation = sourceLocation
    }

    /// Runs a case of a test with a transport of its own, and records the problems that the transport has found.
    ///
    /// - Throws: The error of the provider, of the test, or of the transport's end.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let transport = try await provider.makeTransport()
        let observed = transport as? any TestTransport
        TraitScope.current?.isReplaced.store(true, ordering: .relaxed)
        let scope = TraitScope()
        do {
            try await TraitScope.$current.withValue(scope) {
                try await TransportOverride.with(transport) { try await function() }
            }
        } catch {
            record((try? await observed?.finish(hasFailed: true)) ?? [])
            throw error
        }
        // The absence of requests to a transport that was replaced is no problem, as after an error.
        let isReplaced = scope.isReplaced.load(ordering: .relaxed)
        record(try await observed?.finish(hasFailed: isReplaced) ?? [])
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

    /// Indicates whether a trait within the scope has replaced the transport.
    let isReplaced = Atomic(false)
}

extension SourceLocation {
    /// Creates the location of a place in the code.
    init(_ location: CodeLocation) {
        self.init(
            fileID: location.fileID, filePath: location.filePath, line: location.line, column: location.column)
    }
}

extension Trait where Self == TransportTrait {
    /// Returns a trait that gives every case of a test a transport of its own: `.trellis(.router { … })`, `.trellis(.mock { … })`,
    /// `.trellis(.server { … })` or `.trellis(.noNetwork)`.
    ///
    /// - Parameters:
    ///   - provider: The provider of the transports.
    ///   - sourceLocation: The place of the issues that have no other.
    public static func trellis(
        _ provider: TransportProvider, sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        TransportTrait(provider, at: sourceLocation)
    }
}
