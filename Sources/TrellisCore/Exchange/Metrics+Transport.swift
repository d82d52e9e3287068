import CurlEngine

extension Metrics {
    /// Sets new metrics from the report of a transport, whose times are measured from the start of its attempt; `nil` if there is none.
    ///
    /// No initializer, because one with branches ends with a copy of its value.
    mutating func measure(
        _ report: Boxed<TransportReport>?, start: EngineInstant, attemptStart: EngineInstant?, now: EngineInstant,
        version: HTTPVersion?, history: AttemptHistory? = nil, callID: UInt64 = 0, proxyURL: String? = nil,
        serverTrust: ServerTrust? = nil, reporting: ServerTimingFields = ServerTimingFields(),
        bodySizes: (request: Int64, response: Int64) = (0, 0)
    ) {
        self.reporting = reporting
        self.callID = callID
        (requestBodySize, responseBodySize) = bodySizes
        if let proxyURL { self.proxyURL = proxyURL }
        if let serverTrust { self.serverTrust = serverTrust }
        let queueStart = history?.start ?? start
        attemptCount = history?.earlierAttempts ?? 0
        totalTime = now.nanoseconds(since: start)
        self.version = version
        guard let attemptStart else {
            queuedTime = now.nanoseconds(since: queueStart)
            return
        }
        // Attempts that run concurrently with this one count too.
        attemptCount = max(attemptCount + 1, history?.starts?.value ?? 0)
        queuedTime = attemptStart.nanoseconds(since: queueStart)
        guard let report else { return }
        add(report.value, from: attemptStart.nanoseconds(since: start))
    }

    /// Adds the measurements of a transport.
    ///
    /// - Parameter attemptStart: The time from the call to the attempt.
    private mutating func add(_ report: TransportReport, from attemptStart: Int64) {
        nameLookupTime = report.nameLookup
        connectTime = max(report.connect - report.nameLookup, 0)
        tlsTime = max(report.tls - report.connect, 0)
        // The transport's clock has another origin and resolution, so the result is limited to the end of the attempt.
        if report.firstByte > 0 {
            firstByteTime = min(attemptStart + report.firstByte, totalTime)
        }
        bytesSent = report.bytesSent
        bytesReceived = report.bytesReceived
        isReusedConnection = report.isReusedConnection
        peerHost = report.peerHost
        peerPort = report.peerPort
        isConnectionKept = report.isConnectionKept
        tlsResult = report.tlsResult
    }
}

extension ConnectionInfo {
    /// Describes the connection that an attempt has for a request.
    ///
    /// - Parameter task: The attempt; `nil` if the transport is connected before it has returned its attempt.
    mutating func describe(_ task: (any TransportTask)?, for request: PreparedRequest) {
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
