public import HTTPTypes

/// Where a response may come without a body.
public struct EmptyBodyRule: Sendable, Hashable {
    private var isAnywhere = false
    /// The statuses that may.
    public var statusCodes: Set<Int>
    /// The methods whose responses may.
    public var methods: Set<HTTPRequest.Method>

    /// A rule.
    ///
    /// - Parameters:
    ///   - statusCodes: 204 and 205 unless given (RFC 9110, sections 15.3.5 and 15.3.6).
    ///   - methods: `HEAD` unless given (RFC 9110, section 9.3.2).
    public init(statusCodes: Set<Int> = [204, 205], methods: Set<HTTPRequest.Method> = [.head]) {
        self.statusCodes = statusCodes
        self.methods = methods
    }

    /// After `HEAD`, and with a status of 204 or 205.
    public static let standard = EmptyBodyRule()

    /// With any status, after any method.
    public static let anywhere = {
        var rule = EmptyBodyRule()
        rule.isAnywhere = true
        return rule
    }()

    func allows(_ answer: Answer) -> Bool {
        isAnywhere || statusCodes.contains(answer.response.status.code) || methods.contains(answer.request.method)
    }

    /// Fails for an empty body where there must be one.
    func check(_ answer: Answer, type: String) throws(TrellisError) {
        guard answer.body?.isEmpty == true, !allows(answer) else { return }
        throw answer.error(.serializationFailed(.emptyBody(type: type)))
    }
}
