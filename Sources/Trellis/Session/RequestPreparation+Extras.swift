import CurlEngine
import HTTPTypes

/// What few requests have.
extension RequestPreparation {
    /// How long the body waits for the server's word, in nanoseconds. Without a body there is nothing to wait with (RFC 9110,
    /// section 10.1.1).
    static func continueWait(_ request: Request) -> UInt64? {
        guard let body = request.body else { return nil }
        if case .data(let data) = body.source, data.isEmpty { return nil }
        if let wait = request.continueWait { return wait.clampedNanoseconds }
        // Written as a field, it is meant in the same way.
        guard request.headerFields[.expect]?.lowercased() == "100-continue" else { return nil }
        return Duration.seconds(1).clampedNanoseconds
    }
}

/// How much moves at once where the bandwidth is limited, so that a transfer can be paused in time.
struct PieceSizes {
    let send: Int?
    let receive: Int?

    init(_ request: Request, _ configuration: SessionConfiguration) {
        send = [request.bandwidth.upload, configuration.bandwidth.upload].compactMap { $0?.quantum }.min()
        // libcurl has no smaller buffer.
        receive = [request.bandwidth.download, configuration.bandwidth.download].compactMap { $0?.quantum }.min()
            .map { max($0, 1024) }
    }
}
