/// A directory that knows the endpoints of services: a registry, the API of an orchestrator, a file that is watched.
///
/// ```swift
/// struct Registry: ServiceDiscovery {
///     func endpoints(of origin: String) -> AsyncThrowingStream<[Endpoint], any Error> {
///         AsyncThrowingStream { continuation in
///             let watch = registry.watch(origin) { hosts in continuation.yield(hosts.compactMap { try? Endpoint($0) }) }
///             continuation.onTermination = { _ in watch.stop() }
///         }
///     }
/// }
/// ```
///
/// A session observes the sequence in a task of its own, from the first request to the origin until the session ends. Requests wait for the
/// first set, within ``Timeouts/connect``. Each further set replaces the one before. After an error the last set stays, and the directory
/// is asked again after a pause of one second, which doubles up to a minute with each further error. After the end of the sequence
/// the last set stays.
///
/// While the set is empty, requests fail with an error of kind ``TrellisError/Kind/noEndpoint``.
public protocol ServiceDiscovery: Sendable {
    /// The sequence of sets.
    associatedtype EndpointSets: AsyncSequence where EndpointSets.Element == [Endpoint]

    /// Returns the sets of endpoints of an origin: the present one at first, and then each that replaces it.
    ///
    /// - Parameter origin: The origin with its port, such as `https://orders.internal:443`.
    func endpoints(of origin: String) -> EndpointSets
}
