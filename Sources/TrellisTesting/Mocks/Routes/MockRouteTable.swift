import CurlEngine
import TrellisCore

/// The routes of a ``MockRouter``, and the requests that none of them has responded to.
final class MockRouteTable: Sendable {
    private struct State {
        var routes: [MockRoute] = []
        var unmatched: [TestProblem] = []
    }

    private let state = Locked(State())

    func add(_ route: MockRoute) { state.withLock { $0.routes.append(route) } }

    var unmatched: [TestProblem] { state.withLock { $0.unmatched } }

    /// The problems of the routes that were not requested as often as they expect.
    var unused: [TestProblem] { state.withLock { $0.routes }.compactMap(\.unused) }

    /// Returns the reaction to a request: of the first route that matches and has a response left.
    func reaction(to recorded: RecordedRequest) -> MockTransport.Reaction {
        let routes = state.withLock { $0.routes }
        let request = RoutedRequest(recorded)
        var refusal: TestProblem?
        for route in routes {
            guard let parameters = route.match(request) else { continue }
            switch route.turn(for: recorded) {
            case .source(let source, let count):
                return Self.reaction(source, RouteMatch(request: recorded, parameters: parameters, count: count))
            case .exhausted(let count): refusal = refusal ?? Self.exhausted(route, count: count, recorded)
            case .undefined:
                refusal = refusal ?? TestProblem("\(route) has no response for \(recorded)", at: route.location)
            }
        }
        let problem = refusal ?? Self.nearest(routes, request)
        state.withLock { $0.unmatched.append(problem) }
        return .failure(TransportFailure(.other(problem.description)))
    }

    private static func reaction(_ source: MockRoute.Source, _ match: RouteMatch) -> MockTransport.Reaction {
        switch source {
        case .response(let response): return .response(response)
        case .immediate(let make):
            do { return .response(try make(match)) } catch { return .failure(error) }
        case .waiting(let make): return .waiting { try await make(match) }
        }
    }

    private static func exhausted(_ route: MockRoute, count: Int, _ request: RecordedRequest) -> TestProblem {
        let responses = count == 1 ? "the only response" : "all \(count) responses"
        return TestProblem(
            "no response is left for \(request): \(route) (\(route.location)) has given \(responses); "
                + "thenAlways(_:) adds one that is repeated", at: route.location)
    }

    /// Returns the problem of a request without a route, with the route that it differs from least.
    private static func nearest(_ routes: [MockRoute], _ request: RoutedRequest) -> TestProblem {
        let candidates = routes.map { route in (route: route, mismatches: route.mismatches(request)) }
        let nearest = candidates.min { one, other in
            one.mismatches.reduce(0) { $0 + $1.distance } < other.mismatches.reduce(0) { $0 + $1.distance }
        }
        let beginning = "no route for \(request.recorded)"
        guard let nearest else { return TestProblem("\(beginning): the router has no routes") }
        let differences = nearest.mismatches.map { "\n  \($0)" }.joined()
        return TestProblem(
            "\(beginning); the nearest is \(nearest.route) (\(nearest.route.location)):\(differences)",
            at: nearest.route.location)
    }
}
