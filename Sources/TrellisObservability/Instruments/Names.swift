#if Observability
/// The names of the attributes of spans, the dimensions of metrics and the metadata of logs, as in OpenTelemetry's semantic conventions,
/// and the framework's own, which begin with `trellis.`.
enum AttributeName {
    static let method = "http.request.method"
    static let originalMethod = "http.request.method_original"
    static let resendCount = "http.request.resend_count"
    static let connectionState = "http.connection.state"
    static let statusCode = "http.response.status_code"
    static let serverAddress = "server.address"
    static let serverPort = "server.port"
    static let peerAddress = "network.peer.address"
    static let peerPort = "network.peer.port"
    static let protocolVersion = "network.protocol.version"
    static let url = "url.full"
    static let urlTemplate = "url.template"
    static let userAgent = "user_agent.original"
    static let errorType = "error.type"
    static let errorMessage = "exception.message"

    static let callID = "trellis.call.id"
    static let duration = "trellis.duration"
    static let retryCount = "trellis.retry.count"
    static let retryDelay = "trellis.retry.delay"
    static let redirectCount = "trellis.redirect.count"
    static let cacheResult = "trellis.cache.result"
    static let circuitDuration = "trellis.circuit.open_duration"
}

/// The names of the metrics: those in OpenTelemetry's semantic conventions, and the framework's own, which begin with `trellis.`.
enum MetricName {
    static let requestDuration = "http.client.request.duration"
    static let requestBodySize = "http.client.request.body.size"
    static let responseBodySize = "http.client.response.body.size"
    static let activeRequests = "http.client.active_requests"
    static let openConnections = "http.client.open_connections"
    static let connectionDuration = "http.client.connection.duration"

    static let queueDuration = "trellis.client.queue.duration"
    static let retries = "trellis.client.retries"
    static let cacheResults = "trellis.client.cache"
}

/// The value of attributes whose own value is unknown, or one of too many.
let otherValue = "_OTHER"
#endif
