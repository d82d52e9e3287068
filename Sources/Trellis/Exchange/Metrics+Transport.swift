import CurlEngine

extension Metrics {
    init(
        _ report: TransportReport, start: EngineInstant, attemptStart: EngineInstant?, now: EngineInstant,
        version: HTTPVersion?
    ) {
        total = now.since(start)
        self.version = version
        guard let attemptStart else {
            queued = total
            return
        }
        attempts = 1
        queued = attemptStart.since(start)
        nameLookup = report.nameLookup
        if report.connect > report.nameLookup { connect = report.connect - report.nameLookup }
        if report.tls > report.connect { tls = report.tls - report.connect }
        if report.firstByte > .zero { firstByte = queued + report.firstByte }
        bytesSent = report.bytesSent
        bytesReceived = report.bytesReceived
        reusedConnection = report.reusedConnection
        peerAddress = report.peerAddress
    }
}
