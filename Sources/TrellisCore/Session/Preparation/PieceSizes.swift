/// The maximum sizes, in bytes, of the pieces that a transfer sends and receives while its bandwidth is limited: small pieces let the
/// transfer pause in time. A size is `nil` if its direction has no limit.
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

extension Delivery {
    /// The size of libcurl's receive buffer in bytes. Older versions of libcurl allocate such a buffer for each transfer.
    var bufferSize: Int {
        switch self {
        // Collected bodies are mostly small.
        case .memory: 16 << 10
        case .stream: 256 << 10
        // libcurl receives nothing.
        case .connection: 1 << 10
        }
    }
}
