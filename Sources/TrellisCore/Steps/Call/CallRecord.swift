import CurlEngine

/// The changing state of a call under way.
struct CallRecord: Sendable {
    /// The instant at which the call's handle was started; `nil` if the call is a verb's.
    var start: EngineInstant?
    /// Whether the call's result is decided, by its task or by its actor.
    var isDecided = false
    /// The error with which the call has ended while its steps were at work: of its deadline, of its session or of its task.
    var endReason: (any Error)?
    /// The error with which the call was cancelled while it had neither an actor nor an exchange.
    var cancellation: (any Error)?
    /// The task that performs the call, if it has a task of its own.
    var work: Task<Void, Never>?
    /// The reason why the call waits besides a connection, for errors.
    var wait: CallWait?
    /// Whether the call waits for the refresh of a credential.
    var awaitsRefresh = false
    /// The conditions of the call's readers.
    var conditions = CallConditions()
    /// The exchanges that have ended, for a handle to show; `nil` if the call has no handle.
    var exchanges: [RequestExchange]?
    /// The last requests of the call that retry budgets have recorded, by budget.
    var budgetRecords: [ObjectIdentifier: BudgetRecord] = [:]
    /// The results of the last attempt's validations that observers have not been told.
    var validations: [(any Error)?] = []
    /// The records about the credentials of the call, by the stores that hold the credentials.
    var credentials: [ObjectIdentifier: CredentialRecord] = [:]
}

/// The URL and the host of a request that a retry budget has recorded.
struct BudgetRecord: Sendable {
    let url: String
    let host: String
}

extension Locked: HeadValidator where Value == CallRecord {
    func refuses(_ head: ResponseHead, of request: Request) -> Bool {
        withLock { $0.conditions }.refuses(head, of: request)
    }
}
