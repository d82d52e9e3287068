#if Redis
public import TrellisCore

/// The settings of a ``RedisServer``. Descriptions show nothing of them, because there may be a password.
public struct RedisConfiguration: Sendable, RedactedDescription {
    /// The name of the user (`AUTH` of Redis 6), if any; the one in the address otherwise.
    public var username: String?
    /// The password, if any; the one in the address otherwise.
    public var password: String?
    /// The number of the database, if any; the one in the address otherwise, and 0 without it.
    public var database: Int?
    /// The rules of TLS, for addresses with `rediss:`.
    public var tls = TLSConfiguration()
    /// The beginning of all names of this framework on the server, `trellis` by default. Programs with the same prefix share what they
    /// store, and must be programs that trust each other.
    public var prefix = "trellis"
    /// The time that one request waits for the server, in all of its waits together, 50 milliseconds by default. Then the request goes on
    /// without the server.
    public var patience: Duration = .milliseconds(50)
    /// The shortest time for which the server is not asked after it has not answered in time, a second by default: no other request waits
    /// for it in vain meanwhile.
    public var pause: Duration = .seconds(1)
    /// The time for which one process may ask the origin, or an authorization server, for the others, three seconds by default. If it does
    /// not come back, because it was killed, the others ask after that time.
    public var lease: Duration = .seconds(3)
    /// The longest time for making a connection, which no request waits for as a whole, two seconds by default.
    public var connectTimeout: Duration = .seconds(2)
    /// The time after which a connection is given up whose server owes an answer, five seconds by default.
    public var silence: Duration = .seconds(5)

    /// Creates the default settings.
    ///
    /// - Parameters:
    ///   - username: The name of the user, if any.
    ///   - password: The password, if any.
    public init(username: String? = nil, password: String? = nil) {
        (self.username, self.password) = (username, password)
    }
}
#endif
