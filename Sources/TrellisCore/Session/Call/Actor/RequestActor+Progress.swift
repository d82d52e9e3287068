import CurlEngine

/// The progress of a call, measured from the first access to it.
extension RequestActor {
    /// The progress of the request's body.
    nonisolated var uploadProgress: ProgressBroadcaster {
        Self.meter(uploadMeter, call.clock) { made in
            submit { request in
                request.exchange?.perform { $0.measureUpload(with: made) }
                if request.hasEnded { made.finish() }
            }
        }
    }

    /// The progress of the response's body.
    nonisolated var downloadProgress: ProgressBroadcaster {
        Self.meter(downloadMeter, call.clock) { made in
            submit { request in
                request.exchange?.perform { $0.measureDownload(with: made) }
                if request.hasEnded { request.finishDownload(made) }
            }
        }
    }

    private static func meter(
        _ place: borrowing LazyReference<ProgressBroadcaster>, _ clock: any EngineClock,
        whenMade: (ProgressBroadcaster) -> Void
    ) -> ProgressBroadcaster {
        if let meter = place.load() { return meter }
        let made = ProgressBroadcaster(clock: clock)
        let meter = place.storeIfNil(made)
        if meter === made { whenMade(made) }
        return meter
    }

    /// Measures the bodies of a new exchange, starting at zero.
    func measureBodies() {
        if let meter = uploadMeter.load() { exchange?.perform { $0.measureUpload(with: meter) } }
        if let meter = downloadMeter.load() { exchange?.perform { $0.measureDownload(with: meter) } }
    }

    /// Ends the progress sequences.
    func finishMeters() {
        uploadMeter.load()?.finish()
        guard let meter = downloadMeter.load() else { return }
        finishDownload(meter)
    }

    /// Ends the progress of the response's body: with the call or, for a stream, with its body.
    func finishDownload(_ meter: ProgressBroadcaster) {
        if call.delivery == .stream, let exchange, !exchange.isEnded {
            exchange.perform { $0.endDownloadMeterAtEnd() }
        } else {
            meter.finish()
        }
    }
}
