import CurlEngine
public import HTTPTypes
import TrellisCore

/// The faults of a test, and the requests that they happen to.
///
/// ```swift
/// let faults: FaultPlan = [
///     .first(2, .refusedConnection),
///     .every(10, .latency(.seconds(2), .responseHead)),
///     .with(probability: 0.1, seed: 7, .reset(after: 100)),
///     .always(.drip(bytes: 1, every: .seconds(1))).on { $0.path == "/log" },
/// ]
/// ```
///
/// Every rule that applies to a request adds its faults. They happen in the order of their moments; at one moment in the order of
/// the plan.
public struct FaultPlan: Sendable, ExpressibleByArrayLiteral {
    /// The rules.
    public var rules: [FaultRule]

    /// Creates a plan.
    public init(_ rules: [FaultRule] = []) { self.rules = rules }

    /// Creates a plan from its rules.
    public init(arrayLiteral rules: FaultRule...) { self.init(rules) }

    /// Whether nothing is planned.
    public var isEmpty: Bool { rules.isEmpty }

    /// All faults of the plan.
    var faults: [Fault] { rules.flatMap(\.faults) }
}

/// The faults of a rule, and the requests that the rule applies to.
///
/// A rule counts requests from one, and only those that its predicate matches. A fault of the connecting counts the connections that are
/// made, and a fault of a TLS handshake the handshakes. Without a socket, every attempt of a request makes a connection.
public struct FaultRule: Sendable {
    /// A closure that says whether a rule applies to a request.
    public typealias Predicate = @Sendable (FaultedRequest) -> Bool

    enum Selection: Sendable {
        case always
        case first(Int)
        case after(Int)
        case every(Int)
        case probability(Double, seed: UInt64)
    }

    /// The faults.
    public let faults: [Fault]
    let selection: Selection
    private(set) var predicates: [Predicate] = []

    private init(_ faults: [Fault], _ selection: Selection) {
        self.faults = faults
        self.selection = selection
    }

    /// Returns a rule for all requests.
    public static func always(_ faults: Fault...) -> FaultRule { FaultRule(faults, .always) }

    /// Returns a rule for the first `count` requests.
    public static func first(_ count: Int, _ faults: Fault...) -> FaultRule { FaultRule(faults, .first(count)) }

    /// Returns a rule for all requests but the first `count` ones.
    public static func after(_ count: Int, _ faults: Fault...) -> FaultRule { FaultRule(faults, .after(count)) }

    /// Returns a rule for every request whose number is a multiple of `number`, which must be positive.
    public static func every(_ number: Int, _ faults: Fault...) -> FaultRule {
        precondition(number > 0, "a rule for every n-th request needs a positive n")
        return FaultRule(faults, .every(number))
    }

    /// Returns a rule for a random part of the requests, which is the same in every run.
    ///
    /// - Parameters:
    ///   - probability: The probability for each request, from 0 to 1.
    ///   - seed: The seed of the random numbers: the same numbers for the same seed.
    ///   - faults: The faults.
    public static func with(probability: Double, seed: UInt64, _ faults: Fault...) -> FaultRule {
        FaultRule(faults, .probability(probability, seed: seed))
    }

    /// Returns the same rule for the requests that a predicate matches. A second predicate is a further condition.
    ///
    /// A server on a socket knows no request while a connection is being made: a rule with a predicate cannot have faults of that stage
    /// there, and the server is not created (``UnplayableFault``).
    public func on(_ predicate: @escaping Predicate) -> FaultRule {
        var rule = self
        rule.predicates.append(predicate)
        return rule
    }

    /// Returns the same rule for the requests with a path, percent-encoded and without a query.
    public func on(path: String) -> FaultRule { on { $0.path == path } }
}

/// A request, as the predicate of a ``FaultRule`` sees it.
public struct FaultedRequest: Sendable {
    /// The method.
    public let method: String
    /// The path, percent-encoded.
    public let path: String
    /// The query without its question mark, if any.
    public let query: String?
    /// The fields.
    public let headers: HTTPFields

    /// The value of the field with a name, in any case, if any.
    public subscript(name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }

    init(_ request: TransportRequest) {
        method = request.method.rawValue
        path = request.path
        query = request.query
        headers = request.headers
    }

    init(_ request: LoopbackServer.ReceivedRequest) {
        method = request.method
        path = request.path
        query = request.query
        headers = request.headers
    }
}
