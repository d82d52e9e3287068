import CurlEngine

/// The bandwidth that the transfers of a session share.
struct SessionFlow: Sendable {
    private let upload: BandwidthGate?
    private let download: BandwidthGate?

    /// `nil` where there is no limit.
    init?(_ limits: BandwidthLimits, executor: EngineExecutor) {
        guard !limits.isEmpty else { return nil }
        upload = limits.upload.map { BandwidthGate($0, executor: executor) }
        download = limits.download.map { BandwidthGate($0, executor: executor) }
    }

    /// The limits of a request: its own, and those of its session.
    static func flow(of request: Request, in session: SessionFlow?, executor: EngineExecutor) -> TransferFlow? {
        let own = SessionFlow(request.bandwidth, executor: executor)
        return TransferFlow(
            sending: [own?.upload, session?.upload].compactMap(\.self),
            receiving: [own?.download, session?.download].compactMap(\.self))
    }
}
