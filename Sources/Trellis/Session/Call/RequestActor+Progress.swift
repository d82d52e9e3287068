import CurlEngine
import Synchronization

/// The progress of a call, measured once somebody has asked for it.
extension RequestActor {
    /// The progress of the request's body.
    nonisolated var uploadProgress: ProgressBroadcaster {
        Self.meter(uploadMeter, call.clock) { made in
            enter { request in
                request.exchange?.onEngineThread.measureUpload(with: made)
                if request.hasEnded { made.finish() }
            }
        }
    }

    /// The progress of the answer's body.
    nonisolated var downloadProgress: ProgressBroadcaster {
        Self.meter(downloadMeter, call.clock) { made in
            enter { request in
                request.exchange?.onEngineThread.measureDownload(with: made)
                if request.hasEnded { made.finish() }
            }
        }
    }

    private static func meter(
        _ place: borrowing AtomicLazyReference<ProgressBroadcaster>, _ clock: any EngineClock,
        whenMade: (ProgressBroadcaster) -> Void
    ) -> ProgressBroadcaster {
        if let meter = place.load() { return meter }
        let made = ProgressBroadcaster(clock: clock)
        let meter = place.storeIfNil(made)
        if meter === made { whenMade(made) }
        return meter
    }

    /// A new attempt starts over.
    func measureBodies() {
        if let meter = uploadMeter.load() { exchange?.onEngineThread.measureUpload(with: meter) }
        if let meter = downloadMeter.load() { exchange?.onEngineThread.measureDownload(with: meter) }
    }

    func finishMeters() {
        uploadMeter.load()?.finish()
        downloadMeter.load()?.finish()
    }
}
