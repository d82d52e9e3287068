import Testing

@testable import TrellisCore

/// The state of calls while a credential is used, refused and refreshed.
struct RefreshStateTests {
    typealias Decision = RefreshState.Decision

    enum Step: Sendable {
        /// A call is sent; `at` is in seconds.
        case adapt(UInt64, expired: Bool = false, at: Int = 0, Decision)
        /// A call was refused with the credential of a version; `nil` stands for the current version.
        case refuse(UInt64, isCurrent: Bool = true, of: Int? = nil, at: Int = 0, Decision)
        case refreshed(Int, expired: Bool = false, isWanted: Bool = true)
        case failed(Int, isWanted: Bool = true)
        /// The session of the refresh has ended.
        case abandoned(Int, isWanted: Bool = true)
        case replace(Bool)
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var hasCredential = true
        var window: RefreshWindow? = RefreshWindow(interval: .seconds(30), maximumAttempts: 2)
        let steps: [Step]

        init(
            _ name: String, hasCredential: Bool = true,
            window: RefreshWindow? = RefreshWindow(interval: .seconds(30), maximumAttempts: 2), _ steps: Step...
        ) {
            testDescription = name
            self.hasCredential = hasCredential
            self.window = window
            self.steps = steps
        }
    }

    static let stories: [Story] = [
        Story("a good credential is used", .adapt(1, .proceed), .adapt(2, .proceed)),
        Story(
            "without a credential nothing goes out", hasCredential: false,
            .adapt(1, .fail(.missingCredential)), .refuse(1, .fail(.missingCredential)),
            .replace(true), .adapt(2, .proceed)),
        Story(
            "an expired one is refreshed once, and everybody waits",
            .adapt(1, expired: true, .refresh(1)), .adapt(2, expired: true, .wait), .adapt(3, .wait), .refreshed(1),
            .adapt(4, .proceed)),
        Story(
            "many refusals are one refresh, for which new calls wait",
            .adapt(1, .proceed), .adapt(2, .proceed), .refuse(1, .refresh(1)), .refuse(2, .wait), .adapt(3, .wait),
            .refreshed(1), .adapt(1, .proceed)),
        Story(
            "a late refusal of the credential before goes out again at once",
            .refuse(1, .refresh(1)), .refreshed(1), .refuse(2, isCurrent: false, .proceed)),
        Story(
            "a credential that changed while the authenticator looked at the request",
            .refuse(1, .refresh(1)), .refreshed(1), .refuse(2, of: 0, .proceed)),
        Story(
            "a call is sent again once with each credential",
            .refuse(1, .refresh(1)), .refreshed(1), .refuse(1, .leave), .refuse(1, isCurrent: false, .leave),
            .refuse(2, .refresh(2)), .refuse(1, .wait), .refreshed(2), .refuse(1, .leave)),
        Story(
            "a request that never looks authenticated does not run in circles",
            .refuse(1, isCurrent: false, .proceed), .refuse(1, isCurrent: false, .leave)),
        Story(
            "a failed refresh fails those that had gone out, and is tried again for a later call",
            .adapt(1, .proceed), .adapt(2, .proceed), .refuse(1, .refresh(1)), .failed(1),
            .refuse(2, .fail(.refreshFailed)), .refuse(1, .fail(.refreshFailed)),
            .adapt(3, .proceed), .refuse(3, .refresh(2)), .refreshed(2), .refuse(2, isCurrent: false, .proceed)),
        Story(
            "a call that was made long ago and is sent after a failed refresh begins another one",
            .adapt(2, .proceed), .refuse(2, .refresh(1)), .failed(1), .adapt(1, .proceed), .refuse(1, .refresh(2))),
        Story(
            "a refresh ahead of expiry that failed is tried again by the next call",
            .adapt(1, expired: true, .refresh(1)), .failed(1), .adapt(2, expired: true, .refresh(2))),
        Story(
            "a refresh that ended with its session is begun again by the next call",
            .adapt(1, expired: true, .refresh(1)), .adapt(2, .wait), .abandoned(1), .refreshed(1, isWanted: false),
            .adapt(2, expired: true, .refresh(2)), .abandoned(1, isWanted: false), .refreshed(2), .adapt(3, .proceed)),
        Story(
            "too many refreshes in the window, and again after it",
            .refuse(1, .refresh(1)), .refreshed(1), .refuse(2, at: 1, .refresh(2)), .refreshed(2),
            .refuse(3, at: 30, .fail(.excessiveRefresh)), .adapt(4, expired: true, at: 30, .fail(.excessiveRefresh)),
            .adapt(5, at: 30, .proceed), .refuse(6, at: 31, .refresh(3))),
        Story(
            "no window, no limit", window: nil,
            .refuse(1, .refresh(1)), .refreshed(1), .refuse(2, .refresh(2)), .refreshed(2), .refuse(3, .refresh(3))),
        Story(
            "a window of none never refreshes", window: RefreshWindow(maximumAttempts: 0),
            .refuse(1, .fail(.excessiveRefresh)), .adapt(2, .proceed)),
        Story(
            "a new credential that says it has expired is used all the same",
            .adapt(1, expired: true, .refresh(1)), .refreshed(1, expired: true), .adapt(2, expired: true, .proceed),
            .refuse(2, .refresh(2)), .refreshed(2), .adapt(3, expired: true, at: 60, .refresh(3))),
        Story(
            "a credential that is set ends the refresh under way",
            .adapt(1, expired: true, .refresh(1)), .replace(true), .refreshed(1, isWanted: false),
            .failed(1, isWanted: false), .adapt(2, .proceed), .refuse(2, .refresh(3))),
        Story(
            "a credential that is set lets bygones be bygones",
            .adapt(1, .proceed), .refuse(1, .refresh(1)), .failed(1), .replace(true), .adapt(1, .proceed),
            .refuse(1, .refresh(3))),
        Story(
            "a refresh that comes too late is taken, unless there is another by now",
            .refuse(1, .refresh(1)), .failed(1), .refreshed(1), .refreshed(1, isWanted: false),
            .adapt(6, .proceed), .refuse(5, .refresh(2)), .failed(2), .refuse(6, .fail(.refreshFailed)),
            .adapt(7, expired: true, at: 60, .refresh(3)), .refreshed(2, isWanted: false), .refreshed(3)),
    ]

    @Test(arguments: stories)
    func everyCallIsDealtWith(_ story: Story) {
        var state = RefreshState(hasCredential: story.hasCredential, window: story.window)
        /// The versions and the refreshes that the records of the calls hold, and the refused calls that wait.
        var (repeated, sent, waiting): ([UInt64: Int], [UInt64: Int], Set<UInt64>) = ([:], [:], [])
        for (index, step) in story.steps.enumerated() {
            switch step {
            case .adapt(let call, let expired, let time, let decision):
                #expect(state.adapt(requiresRefresh: expired, at: .seconds(time)) == decision, "step \(index)")
                sent[call] = state.lastRefresh
            case .refuse(let call, let isCurrent, let version, let time, let decision):
                let version = version ?? state.version
                let actual = state.refuse(
                    isCurrent: isCurrent, ofVersion: version, repeatedWith: repeated[call],
                    sentAfter: sent[call] ?? 0, at: .seconds(time))
                #expect(actual == decision, "step \(index)")
                switch actual {
                case .proceed: repeated[call] = state.version
                case .wait, .refresh: waiting.insert(call)
                default: break
                }
            case .refreshed(let number, let expired, let isWanted):
                #expect(state.refreshed(number, requiresRefresh: expired) == isWanted, "step \(index)")
                guard isWanted else { continue }
                #expect(state.isRenewed)
                for call in waiting { repeated[call] = state.version }
                waiting = []
            case .failed(let number, let isWanted):
                #expect(state.refreshFailed(number) == isWanted, "step \(index)")
                if isWanted { waiting = [] }
            case .abandoned(let number, let isWanted):
                #expect(state.refreshAbandoned(number) == isWanted, "step \(index)")
                if isWanted { waiting = [] }
            case .replace(let hasCredential):
                state.replace(hasCredential: hasCredential)
                #expect(!state.isRenewed)
                waiting = []
            }
        }
    }

    @Test func everyCredentialHasANumberOfItsOwn() {
        var state = RefreshState(hasCredential: true, window: nil)
        _ = state.adapt(requiresRefresh: true, at: .zero)
        #expect(state.version == 0)
        _ = state.refreshFailed(1)
        #expect(state.version == 0)
        _ = state.refreshed(1, requiresRefresh: false)
        #expect(state.version == 1)
        state.replace(hasCredential: false)
        #expect(state.version == 2)
    }

    /// Refused calls leave no entries in the state machine, which is not told of their ends.
    @Test func callsThatWereRefusedLeaveNothingBehind() {
        var state = RefreshState(hasCredential: true, window: nil)
        for _ in 1...1000 { _ = state.refuse(isCurrent: false, ofVersion: 0, sentAfter: 0, at: .zero) }
        _ = state.refuse(isCurrent: true, ofVersion: 0, sentAfter: 0, at: .zero)
        for _ in 1002...2000 { _ = state.refuse(isCurrent: true, ofVersion: 0, sentAfter: 0, at: .zero) }
        _ = state.refreshed(1, requiresRefresh: false)
        for child in Mirror(reflecting: state).children {
            let collection = Mirror(reflecting: child.value)
            let isCollection = [.set, .collection, .dictionary].contains(collection.displayStyle)
            #expect(!isCollection || collection.children.count < 10, "\(child.label ?? "")")
        }
    }
}
