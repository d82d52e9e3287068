#if Observability
import TrellisCore

/// A series of the metrics: the values of their dimensions.
struct Series: Hashable, Sendable {
    /// The kind of a series, with the values of its own dimensions.
    enum Kind: Hashable, Sendable {
        /// The beginning of a request on the wire.
        case start
        /// The end of a request on the wire.
        case end(status: Int?, version: HTTPVersion?, errorType: String?)
        case retry(errorType: String)
        case cache(result: String)
        /// The open connections that are idle, or in use.
        case connections(isIdle: Bool)
        /// The end of a connection.
        case connectionEnd

        /// Whether the dimensions are a connection's, which has no method and no template.
        fileprivate var isOfConnections: Bool {
            switch self {
            case .start, .end, .retry, .cache: false
            case .connections, .connectionEnd: true
            }
        }

        /// The same kind without the values.
        fileprivate var withoutValues: Kind {
            switch self {
            case .start: .start
            case .end: .end(status: nil, version: nil, errorType: nil)
            case .retry: .retry(errorType: otherValue)
            case .cache: .cache(result: otherValue)
            case .connections, .connectionEnd: self
            }
        }

        /// The dimensions of the kind. All series of a metric have the same ones, in the same order.
        fileprivate var dimensions: [(String, String)] {
            switch self {
            case .start, .connectionEnd: []
            case .end(let status, let version, let errorType):
                [
                    (AttributeName.statusCode, status.map { String($0) } ?? ""),
                    (AttributeName.protocolVersion, version?.rawValue ?? ""),
                    (AttributeName.errorType, errorType ?? ""),
                ]
            case .retry(let errorType): [(AttributeName.errorType, errorType)]
            case .cache(let result): [(AttributeName.cacheResult, result)]
            case .connections(let isIdle): [(AttributeName.connectionState, isIdle ? "idle" : "active")]
            }
        }
    }

    var kind: Kind
    var method: String
    var server: ServerAddress
    /// The template of the URL; empty if there is none.
    var template: String

    /// The series that takes the place of this one if there are too many.
    var overflow: Series {
        Series(
            kind: kind.withoutValues, method: otherValue, server: .other,
            template: template.isEmpty ? template : otherValue)
    }

    /// Returns the dimensions with their values.
    func dimensions(omittingEmpty omits: Bool) -> [(String, String)] {
        let ofServer = [
            (AttributeName.serverAddress, server.address),
            (AttributeName.serverPort, server.port == 0 ? "" : String(server.port)),
        ]
        let ofRequest =
            kind.isOfConnections
            ? ofServer : [(AttributeName.method, method)] + ofServer + [(AttributeName.urlTemplate, template)]
        let all = ofRequest + kind.dimensions
        return omits ? all.filter { !$0.1.isEmpty } : all
    }
}

/// The bounds of the servers and of the series of a session, whatever its requests and its servers are.
struct SeriesBounds: Sendable {
    private let maximumServerCount: Int
    private let maximumSeriesCount: Int
    private var servers: Set<ServerAddress> = []
    private var known: Set<Series> = []

    init(_ settings: Observability) {
        (maximumServerCount, maximumSeriesCount) = (settings.maximumServerCount, settings.maximumSeriesCount)
    }

    /// Returns the server within the bounds: the given one, or ``ServerAddress/other``. The same for a server from now on.
    mutating func bounded(_ server: ServerAddress) -> ServerAddress {
        if servers.contains(server) { return server }
        guard servers.count < maximumServerCount else { return .other }
        servers.insert(server)
        return server
    }

    /// Returns the series within the bounds: the given one, or the one that takes its place.
    mutating func bounded(_ series: Series) -> Series {
        var series = series
        series.server = bounded(series.server)
        if known.contains(series) { return series }
        guard known.count < maximumSeriesCount else { return series.overflow }
        known.insert(series)
        return series
    }
}
#endif
