import CurlEngine

/// The bandwidth that the transfers of a session share.
struct SessionBandwidth: Sendable {
    private let upload: BandwidthGate?
    private let download: BandwidthGate?

    /// Creates the gates of the limits; `nil` if there is no limit.
    init?(_ limits: BandwidthLimits, executor: EngineExecutor) {
        guard !limits.isEmpty else { return nil }
        upload = limits.upload.map { BandwidthGate($0, executor: executor) }
        download = limits.download.map { BandwidthGate($0, executor: executor) }
    }

    /// Returns the bandwidth limits that apply to a request, its own and those of its session; `nil` if there are none.
    static func flow(of request: Request, in session: SessionBandwidth?, executor: EngineExecutor) -> TransferBandwidth?
    {
        let own = SessionBandwidth(request.bandwidth, executor: executor)
        return TransferBandwidth(
            sending: [own?.upload, session?.upload].compactMap(\.self),
            receiving: [own?.download, session?.download].compactMap(\.self))
    }
}
