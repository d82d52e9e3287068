import CurlEngine

/// The largest pieces in bytes that move at once under limited bandwidth, so that a transfer can be paused in time; `nil` if not
/// limited.
struct PieceSizes {
    let send: Int?
    let receive: Int?

    init(_ request: Request, _ configuration: SessionConfiguration) {
        send = [request.bandwidth.upload, configuration.bandwidth.upload].compactMap { $0?.quantum }.min()
        // The smallest buffer of libcurl has 1,024 bytes.
        receive = [request.bandwidth.download, configuration.bandwidth.download].compactMap { $0?.quantum }.min()
            .map { max($0, 1024) }
    }
}
