import CurlEngine

extension ConnectionInfo {
    /// Describes the connection that an attempt has for a request.
    ///
    /// - Parameter task: The attempt; `nil` if the transport is connected before it has returned its attempt.
    init(_ task: (any TransportTask)?, for request: PreparedRequest) {
        self.init()
        isSecure = request.wire.url.isSecure
        proxyURL = request.proxyURL
        guard let task else { return }
        let report = task.report
        isReused = report.isReusedConnection
        isShared = task.sharesConnection
        nameLookupTime = report.nameLookup
        connectTime = max(report.connect - report.nameLookup, 0)
        tlsTime = max(report.tls - report.connect, 0)
        (peerHost, peerPort) = (report.peerHost, report.peerPort)
        let details = task.connectionDetails
        (version, localPort, streamNumber) = (details.version, details.port, details.stream)
    }
}
