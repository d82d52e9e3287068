public import TrellisCore

/// Runs an operation whose requests use a transport instead of the transports of their sessions, so that code with its own session
/// can be tested, and tests with different transports run at the same time:
///
/// ```swift
/// enum API {
///     static let session = Session()
///     static func user(_ id: Int) async throws -> User { try await session.decode(from: "https://api.example.com/users/\(id)") }
/// }
///
/// @Test func aUserIsDecoded() async throws {
///     let router = MockRouter()
///     router.route(.get, "/users/7").respond(with: .json(#"{"name":"Ada"}"#))
///     let user = try await withTransport(router) { try await API.user(7) }
///     #expect(user.name == "Ada")
/// }
/// ```
///
/// The transport serves every request that the operation makes, with any session: in its task, in child tasks and groups, and in tasks that
/// it creates with `Task { … }`. A handle keeps the transport of the task that has made it. A detached task (`Task.detached`) uses the
/// session's transport. An operation within an operation replaces the transport.
///
/// The session keeps its configuration, its clock and its state: cookies, cached responses, credentials, rates and circuit breakers. Tests
/// of these need their own sessions. The limits on connections count the requests of each operation separately.
///
/// - Parameters:
///   - transport: The transport. If it is a ``TestTransport`` such as ``MockRouter``, it is finished at the end.
///   - operation: The operation.
/// - Returns: The result of the operation.
/// - Throws: The error of the operation; ``TestProblems`` if the operation has returned, and the transport has found problems.
@discardableResult
public func withTransport<Result>(
    _ transport: any Transport, _ operation: () async throws -> Result
) async throws -> Result {
    let test = transport as? any TestTransport
    let result: Result
    do {
        result = try await TransportOverride.with(transport) { try await operation() }
    } catch {
        // The error of the operation says more than a problem that may be its consequence.
        _ = try? await test?.finish(hasFailed: true)
        throw error
    }
    let problems = try await test?.finish(hasFailed: false) ?? []
    guard problems.isEmpty else { throw TestProblems(problems) }
    return result
}

/// Runs an operation whose requests use a transport that is made for it. Everything else is as in ``withTransport(_:_:)-(Transport,_)``.
///
/// - Parameters:
///   - provider: The provider of the transport, such as `.router { … }` or `.noNetwork`.
///   - operation: The operation.
/// - Throws: The error of the provider or of the operation; ``TestProblems`` if the operation has returned, and the transport has found
///   problems.
@discardableResult
public func withTransport<Result>(
    _ provider: TransportProvider, _ operation: () async throws -> Result
) async throws -> Result {
    try await withTransport(try await provider.makeTransport()) { try await operation() }
}
