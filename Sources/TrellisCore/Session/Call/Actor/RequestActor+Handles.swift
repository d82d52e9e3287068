import CurlEngine
import Synchronization

/// The functions that handles call, from any thread.
extension RequestActor {
    /// Returns the response to one more reader. Starts the call, unless it was started. A cancelled task leaves the call to the other
    /// readers; with the last of them the call ends.
    ///
    /// - Parameter conditions: The reader's conditions of the response; `nil` if it accepts any.
    @inline(never)
    nonisolated func answer(_ conditions: ReadingConditions? = nil) async throws -> StepResponse {
        let reader = Self.readerCount.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withReply { reply in
                submit { $0.wait(reader, with: reply, conditions) }
                begin()
            }
        } onCancel: {
            submit { $0.leave(reader) }
        }
    }

    private static let readerCount = Atomic<UInt64>(0)

    /// Starts the call, or resumes it.
    ///
    /// - Parameter conditions: The conditions of all readers; `nil` if the readers accept any response.
    nonisolated func resume(_ conditions: ReadingConditions? = nil) {
        submit { request in
            request.start(conditions, with: .resume)
            request.streamedExchange?.perform { $0.resume() }
        }
        begin()
    }

    /// Starts the call for a reader of its progress, unless the call was started or has ended. A suspended call stays suspended.
    ///
    /// - Parameter conditions: The conditions of all readers; `nil` if the readers accept any response.
    nonisolated func beginForProgress(_ conditions: ReadingConditions?) {
        guard !hasBegun.load(ordering: .relaxed), !call.record.withLock({ $0.isDecided }) else { return }
        submit { $0.start(conditions, with: .begin) }
        begin()
    }

    nonisolated func suspend() {
        submit { request in
            request.handle(.suspend)
            request.streamedExchange?.perform { $0.suspend() }
        }
    }

    nonisolated func end(_ error: any Error) {
        submit { request in
            request.cancel(error)
            request.streamedExchange?.perform { $0.cancel(error) }
        }
    }

    /// The exchange whose body is still read, of a stream whose head has been handed over.
    private var streamedExchange: ExchangeActor? {
        guard call.delivery == .stream, currentState == .finished, let exchange else { return nil }
        return exchange.isEnded ? nil : exchange
    }

    /// Starts a task that performs the call, once. It has the priority and the task-local values of the first task that asks, and the
    /// transport of the task that has made the request.
    ///
    /// The task begins at once if it waits for its exchanges alone, so that requests which are resumed in turn wait for connections in that
    /// order. Code of the user's runs on the pool.
    nonisolated func begin() {
        guard !hasBegun.exchange(true, ordering: .relaxed) else { return }
        call.begin()
        submit { $0.setTimer() }
        let work = { @Sendable in
            let result = await TransportOverride.with(self.call.transportOverride) { await self.perform() }
            self.submit { $0.arrive(result) }
        }
        if !CallingThread.isEngine, !steps.immediate.hasUserCode, session.mayPerformHere(call.request, steps) {
            keep(Task.immediate { await work() })
        } else {
            keep(Task(executorPreference: globalConcurrentExecutor) { await work() })
        }
    }
}

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
