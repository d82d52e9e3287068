import CurlEngine
import Synchronization

/// The progress of a call, measured once somebody has asked for it.
extension CallActor {
    /// The progress of the request's body.
    nonisolated var uploadProgress: ProgressBroadcaster {
        if let meter = uploadMeter.load() { return meter }
        let made = ProgressBroadcaster(clock: clock)
        let meter = uploadMeter.storeIfNil(made)
        if meter === made { enter { $0.measureUpload() } }
        return meter
    }

    private func measureUpload() {
        guard let meter = uploadMeter.load() else { return }
        attempt?.onEngineThread.measureUpload(with: meter)
        if hasEnded { meter.finish() }
    }
}
