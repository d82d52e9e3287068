import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The clock of a case, which moves between the requests.
final class SuiteClock: Sendable {
    /// The start of a case, Sun, 03 May 2026 03:09:37 GMT, in seconds since 1970.
    static let start = 1_777_777_777.0

    private let seconds = Locked(SuiteClock.start)

    var now: Double { seconds.withLock { $0 } }

    func pass(_ seconds: Double) { self.seconds.withLock { $0 += seconds } }
}

/// The server of a case. It finds the response in the number that a request has in the field ``requestNumber``.
final class SuiteOrigin: Sendable {
    /// The number of a request in its case.
    static let requestNumber = "Req-Num"
    /// The number of the request that a response was made for.
    static let answeredNumber = "Request-Number"

    /// A request that was received.
    struct Received: Sendable {
        let method: HTTPRequest.Method
        let headers: HTTPFields
        /// The fields of the response.
        let sent: HTTPFields
        /// Whether the response was a 304 to the conditions of the cache.
        let isNotModified: Bool
    }

    private let steps: [SuiteStep]
    private let clock: SuiteClock
    private let received = Locked<[Int: [Received]]>([:])
    private let errors = Locked<[Int: [String]]>([:])

    init(_ steps: [SuiteStep], _ clock: SuiteClock) { (self.steps, self.clock) = (steps, clock) }

    /// The first request with a number; `nil` if it was not received.
    func request(_ number: Int) -> Received? { received.withLock { $0[number]?.first } }

    /// Returns the errors in the requests with a number.
    func errors(_ number: Int) -> [String] {
        let count = received.withLock { $0[number]?.count ?? 0 }
        let repetition = count > 1 ? ["the origin received the request \(count) times"] : []
        return repetition + errors.withLock { $0[number] ?? [] }
    }

    /// Returns the response to a request.
    func response(to request: TransportRequest) throws -> MockResponse {
        let number = request[Self.requestNumber].flatMap { Int($0) } ?? 0
        guard steps.indices.contains(number - 1) else {
            note("a request has no number", number)
            return MockResponse(status: 400)
        }
        let step = steps[number - 1]
        let fields = SuiteFields.fields(step.lines, at: clock.now)
        let isValidation = step.outcome == .etagValidated || step.outcome == .lastModifiedValidated
        let isNotModified = isValidation && hasPresentValidator(request, step, number)
        received.withLock { received in
            received[number, default: []].append(
                Received(
                    method: request.method, headers: request.headers, sent: fields, isNotModified: isNotModified))
        }
        clock.pass(step.delay)
        if step.closes { throw TransportFailure(.connectionFailed(.unreachable("closed"))) }
        let status = isNotModified ? 304 : isValidation ? 499 : step.status
        let hasBody = request.method != .head && status != 304 && status != 204
        var response = MockResponse(
            status: status, headers: fields + SuiteFields.fields(["\(Self.answeredNumber): \(number)"], at: 0),
            body: hasBody ? Data(step.text.utf8) : Data())
        response.informational = step.interim.map { head in
            ResponseHead(
                status: .init(code: head.status), headers: SuiteFields.fields(head.lines, at: clock.now))
        }
        return response
    }

    /// Returns whether a request has the validator of the response before it.
    private func hasPresentValidator(_ request: TransportRequest, _ step: SuiteStep, _ number: Int) -> Bool {
        let isTag = step.outcome == .etagValidated
        let asked = SuiteFields.value(isTag ? .ifNoneMatch : .ifModifiedSince, in: request.headers)
        let sent = (1..<number).reversed().lazy.compactMap { self.request($0)?.sent }
            .compactMap { SuiteFields.value(isTag ? .eTag : .lastModified, in: $0) }.first
        if let asked, asked == sent { return true }
        note("the origin received the validator \(asked ?? "none") instead of \(sent ?? "none")", number)
        return false
    }

    private func note(_ error: String, _ number: Int) { errors.withLock { $0[number, default: []].append(error) } }
}
