import TrellisCore

extension TransportConformance {
    /// A requirement on every transport.
    public struct Case: Sendable {
        /// The requirement in words.
        public let name: String
        /// The features of the host that the case needs.
        public let features: Features
        private var configure: @Sendable (inout SessionConfiguration) -> Void = { _ in }
        private let script: Script
        private let check: @Sendable (any RunningHost) async throws -> Void

        init(
            name: String, needs features: Features = [], script: @escaping Script,
            check: @escaping @Sendable (any RunningHost) async throws -> Void
        ) {
            self.name = name
            self.features = features
            self.script = script
            self.check = check
        }

        /// Returns the same case with settings for the session.
        func configured(_ configure: @escaping @Sendable (inout SessionConfiguration) -> Void) -> Case {
            var copy = self
            copy.configure = configure
            return copy
        }

        /// Checks whether a transport meets the requirement.
        ///
        /// - Throws: ``Failure`` if the transport does something else or the host lacks ``features``; the error of the session.
        public func run(on host: some Host) async throws {
            guard host.features.isSuperset(of: features) else {
                throw Failure(description: "the host lacks features that the case needs")
            }
            var scenario = Scenario(beginsAtHead: features.contains(.twoWay), script: script)
            configure(&scenario.configuration)
            let running = try host.start(scenario)
            try await check(running)
            await running.session.shutdown()
        }
    }

    /// A requirement that a transport does not meet.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The expected and the actual result.
        public let description: String
    }

    /// Expects a value to equal another.
    static func expect<Value: Equatable>(_ what: String, _ value: Value, equals expected: Value) throws {
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
