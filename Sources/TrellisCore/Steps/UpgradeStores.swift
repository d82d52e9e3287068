package import CurlEngine

/// What the responses of hosts have asked of later requests. The core has no store: ``HSTSStore`` and ``AlternativeServiceStore`` are two.
package protocol UpgradeStore: AnyObject, Sendable {
    /// Whether the records of the file are known.
    var isLoaded: Bool { get }
    /// The path of the file; `nil` for a store in memory.
    var path: String? { get }

    /// Reads the file, if that has not been done.
    func load() async

    /// Takes the fields of a response that came over https from a verified server.
    func receive(_ head: ResponseHead, from url: WireURL)

    /// Writes all changes to the file.
    func flush() async throws(FileFailure)
}

/// The hosts that are to be reached over https alone.
package protocol SecureHosts: UpgradeStore {
    /// Returns the URL over https instead of one over http; `nil` if the host is not known.
    ///
    /// - Parameters:
    ///   - text: The URL as its author wrote it, with user information and fragment.
    ///   - url: The same URL, parsed.
    func upgraded(_ text: String, _ url: WireURL) -> String?
}

/// The alternative services of origins.
package protocol AlternativeServices: UpgradeStore {
    /// Returns the service to which a request is sent now; `nil` if that is the origin.
    func service(for url: WireURL) -> AlternativeService?

    /// Records the beginning of a request to a service of an origin. Returns the number with which the request ends; `nil` if another
    /// request has begun to test the service.
    func begin(_ service: AlternativeService, of url: WireURL) -> Int?

    /// Records the end of a request to a service of an origin. Returns the time for which the service is not used, if it has failed.
    ///
    /// - Parameter generation: The result of ``begin(_:of:)``.
    @discardableResult
    func end(_ service: AlternativeService, of url: WireURL, _ outcome: AlternativeOutcome, generation: Int) -> Double?

    /// Removes a service that does not serve the origin.
    func remove(_ service: AlternativeService, of url: WireURL)

    /// Removes the services that do not persist beyond a change of the network.
    func networkDidChange() async
}

/// The outcome of a request to an alternative service.
package enum AlternativeOutcome: Sendable {
    case worked, failed
    /// The request has ended for another reason, such as its cancellation.
    case unknown
}
