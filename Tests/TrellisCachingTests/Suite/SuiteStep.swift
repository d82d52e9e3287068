import TestSupport

@testable import TrellisCaching
@testable import TrellisCore

/// A request of a case, the response of the origin to it, and the expectations about both.
///
/// Fields are lines such as `Expires: {10}`. `{10}` stands for the date ten seconds after the present, `{850:10}` for the same date in the
/// form of RFC 850, and `{url}` for the URL of the case. The dates in requests are relative to the start of the case.
struct SuiteStep: Sendable {
    /// The ways in which a response may come about.
    enum Outcome: Sendable {
        /// The response is a stored one.
        case cached
        /// The response is the origin's to this request.
        case notCached
        /// The origin is asked whether the entity tag of the stored response is the present one, and answers with 304.
        case etagValidated
        /// The same with the date of the last modification.
        case lastModifiedValidated
        /// No stored response is used: there is an error, or a response of the cache's own.
        case notUsed
    }

    /// A head with a status of 1xx.
    struct Interim: Sendable {
        let status: Int
        let lines: [String]
    }

    /// The body of responses, 36 bytes.
    static let defaultText = "0123456789abcdefghijklmnopqrstuvwxyz"

    // MARK: The request

    private(set) var method = "GET"
    /// The end of the URL.
    private(set) var suffix = ""
    private(set) var requestLines: [String] = []
    private(set) var mode = CacheMode.default
    private(set) var requestText: String?

    // MARK: The response of the origin

    private(set) var status = 200
    private(set) var lines: [String] = []
    private(set) var text = SuiteStep.defaultText
    private(set) var interim: [Interim] = []
    /// The seconds that the origin takes.
    private(set) var delay = 0.0
    /// Whether the origin closes the connection instead of responding.
    private(set) var closes = false
    /// The seconds after the response, until the next request.
    private(set) var pause = 0.0

    // MARK: The expectations

    /// The way in which the response comes about; `nil` for any.
    private(set) var outcome: Outcome?
    /// The status; `nil` for that of the origin's response.
    private(set) var expectedStatus: Int?
    private(set) var checksBody = true
    /// The fields that the response has: with a value, or the names alone.
    private(set) var present: [String] = []
    /// The names of the fields that the response does not have.
    private(set) var absent: [String] = []
    /// The names of the fields that are as in the origin's response to the first request.
    private(set) var kept: [String] = []
    /// The number of seconds that `Age` exceeds.
    private(set) var minimumAge: Int?
    /// The fields that the origin receives.
    private(set) var received: [String] = []
    /// The names of the fields that the origin does not receive.
    private(set) var notReceived: [String] = []
    /// The method that the origin receives.
    private(set) var receivedMethod: String?
    /// Whether the step only prepares the next one: a deviation here is an error of the case.
    private(set) var isSetup = false

    // MARK: Requests

    static func get(_ lines: [String] = [], at suffix: String = "", mode: CacheMode = .default) -> SuiteStep {
        var step = SuiteStep()
        (step.requestLines, step.suffix, step.mode) = (lines, suffix, mode)
        return step
    }

    static func send(_ method: String, _ lines: [String] = [], text: String? = nil) -> SuiteStep {
        var step = SuiteStep()
        (step.method, step.requestLines, step.requestText) = (method, lines, text)
        return step
    }

    /// Returns a request for a response that is fresh for a day and more.
    static func fresh(_ lines: [String] = [], status: Int = 200, text: String = SuiteStep.defaultText) -> SuiteStep {
        get().answering(["Cache-Control: max-age=100000", "Date: {0}"] + lines, status: status, text: text).pausing()
    }

    /// Returns a request for a response that is stale from the beginning.
    static func stale(_ lines: [String] = [], status: Int = 200) -> SuiteStep {
        get().answering(["Expires: {-5000}", "Last-Modified: {-100000}", "Date: {0}"] + lines, status: status)
            .pausing()
    }

    /// Returns a request for a response that is stale at the time of the next request.
    static func becomingStale(_ lines: [String] = []) -> SuiteStep {
        get().answering(["Cache-Control: max-age=2", "Date: {0}", "Template-A: 1"] + lines).pausing()
    }

    // MARK: Responses of the origin

    func answering(_ lines: [String], status: Int = 200, text: String = SuiteStep.defaultText) -> SuiteStep {
        changed { ($0.lines, $0.status, $0.text) = (lines, status, text) }
    }

    func preceded(by status: Int, _ lines: [String] = []) -> SuiteStep {
        changed { $0.interim.append(Interim(status: status, lines: lines)) }
    }

    func delaying(_ seconds: Double) -> SuiteStep { changed { $0.delay = seconds } }

    func closing() -> SuiteStep { changed { $0.closes = true } }

    func pausing() -> SuiteStep { changed { $0.pause = 3 } }

    // MARK: Expectations

    func expecting(
        _ outcome: Outcome?, _ status: Int? = nil, with present: [String] = [], without absent: [String] = []
    ) -> SuiteStep {
        changed { ($0.outcome, $0.expectedStatus, $0.present, $0.absent) = (outcome, status, present, absent) }
    }

    func keeping(_ names: [String]) -> SuiteStep { changed { $0.kept = names } }

    func older(than seconds: Int) -> SuiteStep { changed { $0.minimumAge = seconds } }

    /// Returns the same with expectations about the request that the origin receives.
    func arriving(_ method: String? = nil, with lines: [String] = [], without names: [String] = []) -> SuiteStep {
        changed { ($0.received, $0.notReceived, $0.receivedMethod) = (lines, names, method) }
    }

    func withAnyBody() -> SuiteStep { changed { $0.checksBody = false } }

    func asSetup() -> SuiteStep { changed { $0.isSetup = true } }

    private func changed(_ change: (inout SuiteStep) -> Void) -> SuiteStep {
        var step = self
        change(&step)
        return step
    }
}
