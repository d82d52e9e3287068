import CurlEngine

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
